// SPDX-License-Identifier: Apache-2.0
#include "net/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/curl_library.h"
#include "net/client_request.h"
#include "net/client_tls.h"

#define IDLE_CONNECTIONS 100u
#define WAIT_MS_MAX 60000

static void unlink_request(struct client_request *request)
{
	*request->link = request->next;
	if (request->next)
		request->next->link = request->link;
}

int client_begin(struct client *client, const struct client_call *call, struct client_request **ret_request)
{
	struct client_request *request;
	int r;

	assert(call->prefix_bytes <= CLIENT_PREFIX_MAX);
	client_tls_reload(&client->tls, monotonic_ns());
	request = client_request_new(client);
	if (!request)
		return -ENOMEM;
	r = client_request_set_up(request, call);
	if (r == 0 && client->curl->multi_add_handle(client->multi, request->curl) != CURLM_OK)
		r = -ENOMEM;
	if (r < 0) {
		client_request_recycle(request);
		return r;
	}
	request->next = client->running;
	request->link = &client->running;
	if (request->next)
		request->next->link = &request->next;
	client->running = request;
	if (ret_request)
		*ret_request = request;
	return 0;
}

void client_cancel(struct client *client, struct client_request *request)
{
	(void)client->curl->multi_remove_handle(client->multi, request->curl);
	unlink_request(request);
	client_request_recycle(request);
}

/* ---- Answers ----------------------------------------------------------------------------- */

static int errno_of(CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -EHOSTUNREACH;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return -EPROTO;
	default:
		return -EIO;
	}
}

static void fill_answer(struct client_request *request, CURLcode code)
{
	const struct curl_library *curl = request->client->curl;
	struct client_answer *answer = &request->answer;
	long status = 0, version = 0;

	(void)curl->easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &status);
	(void)curl->easy_getinfo(request->curl, CURLINFO_HTTP_VERSION, &version);
	/* Then we ended it, and have what we want of it. */
	if (code == CURLE_WRITE_ERROR && answer->too_large)
		code = CURLE_OK;
	if (code != CURLE_OK) {
		answer->error = errno_of(code);
		(void)snprintf(answer->error_text, sizeof(answer->error_text), "%s",
			       *request->error_text ? request->error_text : curl->easy_strerror(code));
	} else if (request->call.http2_only && version != CURL_HTTP_VERSION_2) {
		answer->error = -EPROTO;
		(void)snprintf(answer->error_text, sizeof(answer->error_text), "the server does not speak HTTP/2");
	} else {
		answer->status = (int)status;
	}
}

/* What a connection may turn out to be unfit by: it was closed meanwhile, or is one that 7.88 has confused. */
static bool is_of_connection(CURLcode code)
{
	return code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_SEND_ERROR ||
	       code == CURLE_RECV_ERROR;
}

/* Was there no connection to join, or none that is good? Then it starts again, and opens one. */
static bool restart(struct client_request *request, CURLcode code)
{
	struct client *client = request->client;
	bool is_unfit = is_of_connection(code) && !request->answer.header_count;

	if (request->way != H2C_NONE && code == CURLE_OK)
		client->h2c_idle++;
	if (request->way != H2C_JOINS || code == CURLE_OK || !(request->found_none || is_unfit))
		return false;
	request->is_second_try = true;
	request->sent = 0;
	request->error_text[0] = '\0';
	(void)client->curl->multi_remove_handle(client->multi, request->curl);
	return client_request_set_way(request) == CURLE_OK &&
	       client->curl->multi_add_handle(client->multi, request->curl) == CURLM_OK;
}

static u32 finish_requests(struct client *client)
{
	const CURLMsg *message;
	u32 count = 0;
	int left;

	while ((message = client->curl->multi_info_read(client->multi, &left))) {
		CURLcode code = message->data.result;
		CURL *easy = message->easy_handle;
		char *private = NULL;
		struct client_request *request;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)client->curl->easy_getinfo(easy, CURLINFO_PRIVATE, &private);
		request = (struct client_request *)(void *)private;
		if (restart(request, code))
			continue;
		fill_answer(request, code);
		(void)client->curl->multi_remove_handle(client->multi, easy);
		unlink_request(request);
		request->call.done(request->call.arg, &request->answer);
		client_request_recycle(request);
		count++;
	}
	return count;
}

void client_wait(struct client *client, int timeout)
{
	int running;

	(void)client->curl->multi_perform(client->multi, &running);
	if (finish_requests(client))
		return;
	(void)client->curl->multi_poll(client->multi, NULL, 0, timeout < 0 ? WAIT_MS_MAX : timeout, NULL);
	(void)client->curl->multi_perform(client->multi, &running);
	(void)finish_requests(client);
}

void client_wake(struct client *client)
{
	(void)client->curl->multi_wakeup(client->multi);	/* it fails only if one is under way */
}

void client_call_set_grpc(struct client_call *call, bool is_compressed)
{
	u32 bytes = (u32)call->body_bytes;

	call->http2_only = true;
	call->prefix[0] = is_compressed;
	for (int i = 0; i < 4; i++)
		call->prefix[1 + i] = (u8)(bytes >> (24 - 8 * i));
	call->prefix_bytes = 5;
}

const char *client_answer_header(const struct client_answer *answer, const char *name)
{
	for (u32 i = 0; i < answer->header_count; i++) {
		if (!strcmp(answer->headers[i].name, name))
			return answer->headers[i].value;
	}
	return NULL;
}

/* ---- Clients ----------------------------------------------------------------------------- */

static bool is_curl_7_88(const struct curl_library *curl)
{
	unsigned int version = curl->version_info(CURLVERSION_NOW)->version_num;

	return version == 0x075800 || version == 0x075801;
}

int client_new(const struct client_options *options, struct client **ret_client, struct buf *why)
{
	_cleanup_(client_freep) struct client *client = calloc(1, sizeof(*client));
	CURLMcode code = CURLM_OK;
	u32 idle;
	int r;

	if (!client)
		return -ENOMEM;
	client->options = options ? *options : (struct client_options){ 0 };
	idle = client->options.idle_connections_max ? client->options.idle_connections_max : IDLE_CONNECTIONS;
	r = client_tls_init(&client->tls, client->options.tls, why);
	if (r < 0)
		return r;
	client->curl = curl_library();
	if (!client->curl) {
		buf_addf(why, "libcurl 7.85 or later is needed to send: install it (Debian: libcurl4)");
		return -ENOSYS;
	}
	client->is_7_88 = is_curl_7_88(client->curl);
	client->multi = client->curl->multi_init();
	if (!client->multi)
		return -ENOMEM;
	code |= client->curl->multi_setopt(client->multi, CURLMOPT_PIPELINING,
					   (long)(client->is_7_88 ? CURLPIPE_NOTHING : CURLPIPE_MULTIPLEX));
	code |= client->curl->multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)idle);
	code |= client->curl->multi_setopt(client->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
					   (long)client->options.host_connections_max);
	if (code != CURLM_OK)
		return -ENOMEM;
	*ret_client = TAKE(client);
	return 0;
}

void client_free(struct client *client)
{
	struct client_request *request;

	if (!client)
		return;
	while (client->running)
		client_cancel(client, client->running);
	while ((request = client->spare)) {
		client->spare = request->next;
		client_request_free(request);
	}
	if (client->multi)
		(void)client->curl->multi_cleanup(client->multi);
	client_tls_done(&client->tls);
	free(client);
}

/* ---- One and done -------------------------------------------------------------------------- */

struct getting {
	struct buf *body, *why;
	bool done;
	int result, status;
};

static void got(void *arg, const struct client_answer *answer)
{
	struct getting *getting = arg;

	getting->done = true;
	getting->status = answer->status;
	getting->result = answer->too_large ? -E2BIG : answer->error;
	if (answer->too_large)
		buf_addf(getting->why, "the answer is larger than %zu bytes", getting->body->max);
	else if (answer->error)
		buf_addf(getting->why, "%s", answer->error_text);
	else
		buf_add(getting->body, answer->body.data, answer->body.len);
}

int client_get(const struct client_options *options, const char *url, const struct http_header *headers, u32 count,
	       s64 timeout_ns, struct buf *body, int *ret_status, struct buf *why)
{
	_cleanup_(client_freep) struct client *client = NULL;
	struct getting getting = { .body = body, .why = why };
	struct client_call call = {
		.method = "GET", .url = url, .headers = headers, .header_count = count, .timeout_ns = timeout_ns,
		.answer_max = body->max - body->len, .done = got, .arg = &getting,
	};
	int r = client_new(options, &client, why);

	if (r < 0)
		return r;
	r = client_begin(client, &call, NULL);
	if (r < 0) {
		buf_addf(why, "cannot ask for %s: %s", url, r == -EINVAL ? "it is no URL that is known" : strerror(-r));
		return r;
	}
	while (!getting.done)
		client_wait(client, -1);
	if (getting.result < 0)
		return getting.result;
	*ret_status = getting.status;
	return buf_err(body);
}
