// SPDX-License-Identifier: Apache-2.0
#include "exporters/http_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exporters/otlp_outcome.h"
#include "pipeline/batch.h"

#define BODY_BYTES_MAX (BATCH_BYTES_MAX + (1u << 20))
#define TEXT_BYTES_MAX (64u << 10)

/* One under way. */
struct flight {
	struct http_send *http;
	struct send *send;
	struct client_request *client_request;
	struct http_request request;
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
	send_keep(send, flight);
	return flight;
}

static void done(void *arg, const struct client_answer *answer)
{
	struct flight *flight = arg;
	struct http_send *http = flight->http;
	struct send *send = flight->send;
	struct send_result result;

	http->ops->outcome(http, answer, &result);
	flight_free(flight);
	if (!http->ops->settle || !http->ops->settle(http, send, answer, &result))
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

	if (http->ops->prepare && http->ops->prepare(http, send))
		return 0;
	flight = flight_new(http, send);
	if (!flight)
		return -ENOMEM;
	r = http->ops->make(http, send_batch(send), &flight->request);
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
	struct flight *flight = send_kept(send);

	client_cancel(flight->http->client, flight->client_request);
	flight_free(flight);
}

const struct sender_ops http_sends = { .begin = begin, .wait = wait_for_answers, .wake = wake, .cancel = cancel };
const struct sender_ops http_sends_unjoined = {
	.never_joins = true, .begin = begin, .wait = wait_for_answers, .wake = wake, .cancel = cancel,
};

/* ---- Life ---------------------------------------------------------------------------------- */

int http_send_init(struct http_send *http, const struct client_options *client, const struct http_send_ops *ops,
		   struct buf *why)
{
	http->ops = ops;
	return client_new(client, &http->client, why);
}

void http_send_done(struct http_send *http)
{
	client_free(http->client);
}

bool http_outcome(const struct client_answer *answer, bool (*retry_on)(int status), u64 now_unix_s,
		  struct send_result *ret_result)
{
	const char *after = client_answer_header(answer, "retry-after");

	*ret_result = (struct send_result){ 0 };
	if (answer->error) {
		ret_result->outcome = SEND_RETRY;
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "%s", answer->error_text);
		return true;
	}
	if (answer->status >= 200 && answer->status < 300)
		return true;
	ret_result->outcome = retry_on(answer->status) ? SEND_RETRY : SEND_PERMANENT;
	ret_result->delay_ns = after ? otlp_retry_after(after, now_unix_s) : 0;
	return false;
}
