// SPDX-License-Identifier: Apache-2.0
#include "exporters/http_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "pipeline/batch.h"

#define BODY_BYTES_MAX (BATCH_BYTES_MAX + (1u << 20))
#define TEXT_BYTES_MAX (64u << 10)

/* One under way. */
struct flight {
	struct flight *next, **link;
	struct http_send *http;
	struct send *send;
	struct client_request *client_request;
	struct http_request request;
};

struct http_send {
	const struct http_send_ops *ops;
	void *self;
	struct sender *sender;
	struct client *client;
	struct flight *flights;
};

void http_request_add_header(struct http_request *request, const char *name, const char *value)
{
	for (u32 i = 0; i < request->header_count; i++) {
		if (!strcasecmp(request->headers[i].name, name))
			return;
	}
	if (request->header_count < HTTP_SEND_HEADERS_MAX)
		request->headers[request->header_count++] = (struct http_header){ name, value };
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void flight_free(struct flight *flight)
{
	*flight->link = flight->next;
	if (flight->next)
		flight->next->link = flight->link;
	buf_done(&flight->request.text);
	buf_done(&flight->request.body);
	free(flight);
}

static struct flight *flight_new(struct http_send *http, struct send *send)
{
	struct flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return NULL;
	flight->http = http;
	flight->send = send;
	buf_init(&flight->request.text, TEXT_BYTES_MAX);
	buf_init(&flight->request.body, BODY_BYTES_MAX);
	flight->next = http->flights;
	flight->link = &http->flights;
	if (flight->next)
		flight->next->link = &flight->next;
	http->flights = flight;
	return flight;
}

static void done(void *arg, const struct client_answer *answer)
{
	struct flight *flight = arg;
	struct http_send *http = flight->http;
	struct send *send = flight->send;
	struct send_result result;

	http->ops->outcome(http->self, answer, &result);
	flight_free(flight);
	if (!http->ops->settle || !http->ops->settle(http->self, send, answer, &result))
		sender_done(send, &result);
}

static int begin_call(struct flight *flight)
{
	struct client_call *call = &flight->request.call;

	call->headers = flight->request.headers;
	call->header_count = flight->request.header_count;
	call->done = done;
	call->arg = flight;
	return client_begin(flight->http->client, call, &flight->client_request);
}

static int begin(void *arg, struct send *send)
{
	struct http_send *http = arg;
	struct send_result result = { .outcome = SEND_PERMANENT };
	struct flight *flight;
	int r;

	if (http->ops->prepare && http->ops->prepare(http->self, send))
		return 0;
	flight = flight_new(http, send);
	if (!flight)
		return -ENOMEM;
	r = http->ops->make(http->self, send_batch(send), &flight->request);
	if (r == -E2BIG || r == -EBADMSG) {
		(void)snprintf(result.reason, sizeof(result.reason), "it cannot be encoded: %s",
			       r == -E2BIG ? "it is too large" : strerror(-r));
		flight_free(flight);
		sender_done(send, &result);
		return 0;
	}
	if (r == 0)
		r = begin_call(flight);
	if (r < 0)
		flight_free(flight);
	return r;
}

static void wait_for_answers(void *arg, int timeout_ms)
{
	client_wait(((struct http_send *)arg)->client, timeout_ms);
}

static void wake(void *arg)
{
	client_wake(((struct http_send *)arg)->client);
}

static void cancel(void *arg, struct send *send)
{
	struct http_send *http = arg;
	struct flight *flight = http->flights;

	while (flight->send != send)
		flight = flight->next;
	client_cancel(http->client, flight->client_request);
	flight_free(flight);
}

static const struct sender_ops sending = { .begin = begin, .wait = wait_for_answers, .wake = wake, .cancel = cancel };

/* ---- Life ---------------------------------------------------------------------------------- */

int http_send_new(const struct component_setup *setup, const struct sender_options *sender,
		  const struct client_options *client, const struct http_send_ops *ops, void *self,
		  struct http_send **ret_send, struct buf *why)
{
	_cleanup_(http_send_freep) struct http_send *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return -ENOMEM;
	http->ops = ops;
	http->self = self;
	r = client_new(client, &http->client, why);
	if (r == 0)
		r = sender_new(setup, sender, &sending, http, &http->sender, why);
	if (r < 0)
		return r;
	*ret_send = TAKE(http);
	return 0;
}

int http_send_start(struct http_send *http, struct buf *why)
{
	return sender_start(http->sender, why);
}

int http_send_consume(struct http_send *http, struct batch *batch)
{
	return sender_consume(http->sender, batch);
}

void http_send_stop(struct http_send *http, u64 deadline_ns)
{
	sender_stop(http->sender, deadline_ns);
}

void http_send_free(struct http_send *http)
{
	if (!http)
		return;
	sender_free(http->sender);
	client_free(http->client);
	free(http);
}
