// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_api.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "net/client.h"

#define TOKEN_MAX 16384
#define TOKEN_NS 60000000000ull
#define ANSWER_MAX ((size_t)64 << 20)	/* a page of 500 pods is 5 MB at most, mostly */
#define PENDING_MAX ((size_t)16 << 20)
#define LOOK_MS 200

struct k8s_api {
	struct client *client;
	struct tls_client_options tls;
	char base[128];
	bool has_token;
	char authorization[TOKEN_MAX + 16];
	u64 token_ns;		/* when it was read */
	atomic_bool is_stopped;
};

static void read_token(struct k8s_api *api)
{
	static const char bearer[] = "Bearer ";
	ssize_t bytes;

	api->token_ns = monotonic_ns();
	memcpy(api->authorization, bearer, sizeof(bearer));
	bytes = io_read_text(K8S_TOKEN_FILE, api->authorization + sizeof(bearer) - 1, TOKEN_MAX);
	if (bytes < 0)
		bytes = 0;
	while (bytes && strchr(" \n\r\t", api->authorization[sizeof(bearer) - 2 + (size_t)bytes]))
		bytes--;
	api->authorization[sizeof(bearer) - 1 + (size_t)bytes] = '\0';
}

static int find_server(struct k8s_api *api, bool is_plain, struct buf *why)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
	bool is_v6 = host && strchr(host, ':');

	if (!host || !*host || !port || !*port) {
		buf_addf(why,
			 "this does not run in Kubernetes: KUBERNETES_SERVICE_HOST and "
			      "KUBERNETES_SERVICE_PORT are not set");
		return -ENOENT;
	}
	(void)snprintf(api->base, sizeof(api->base), "%s://%s%.80s%s:%.8s", is_plain ? "http" : "https", is_v6 ? "[" :
		       "", host,
		       is_v6 ? "]" : "", port);
	return 0;
}

int k8s_api_new(enum k8s_auth auth, struct k8s_api **ret_api, struct buf *why)
{
	_cleanup_(k8s_api_freep) struct k8s_api *api = calloc(1, sizeof(*api));
	struct client_options options = { .keepalive_time_ns = 30000000000, .keepalive_timeout_ns = 15000000000 };
	int r;

	if (!api)
		return -ENOMEM;
	r = find_server(api, auth == K8S_AUTH_NONE, why);
	if (r < 0)
		return r;
	if (auth == K8S_AUTH_SERVICE_ACCOUNT) {
		api->has_token = true;
		api->tls = (struct tls_client_options){ .ca_file = K8S_CA_FILE, .reload_interval_ns = (s64)TOKEN_NS };
	}
	options.tls = &api->tls;
	r = client_new(&options, &api->client, why);
	if (r < 0)
		return r;
	*ret_api = TAKE(api);
	return 0;
}

void k8s_api_free(struct k8s_api *api)
{
	if (!api)
		return;
	client_free(api->client);
	explicit_bzero(api->authorization, sizeof(api->authorization));
	free(api);
}

void k8s_api_stop(struct k8s_api *api)
{
	atomic_store(&api->is_stopped, true);
	client_wake(api->client);
}

bool k8s_api_is_stopped(struct k8s_api *api)
{
	return atomic_load(&api->is_stopped);
}

bool k8s_api_pause(struct k8s_api *api, s64 ns)
{
	u64 due = monotonic_ns() + (u64)ns;

	while (!k8s_api_is_stopped(api) && monotonic_ns() < due)
		client_wait(api->client, LOOK_MS);
	return !k8s_api_is_stopped(api);
}

/* ---- One request -------------------------------------------------------------------------------- */

struct asking {
	struct buf *out, *why;
	struct k8s_answer *answer;
	int (*take)(void *arg, const char *at, size_t len);
	void *arg;
	/* What came: libcurl does not take requests while it hands something over, and who takes it may make some. */
	struct buf pending;
	u64 heard_ns;
	bool is_done;
	int result;
};

static void done(void *arg, const struct client_answer *answer)
{
	struct asking *asking = arg;
	const char *after = client_answer_header(answer, "retry-after");

	asking->is_done = true;
	asking->answer->status = answer->status;
	asking->answer->retry_after_ns = after ? strtoll(after, NULL, 10) * 1000000000 : 0;
	if (asking->answer->retry_after_ns < 0 || asking->answer->retry_after_ns > 300000000000)
		asking->answer->retry_after_ns = 300000000000;
	if (asking->result < 0)
		return;
	asking->result = answer->too_large ? -E2BIG : answer->error;
	if (asking->result < 0)
		buf_addf(asking->why, "%s", answer->too_large ? "the answer is too large" : answer->error_text);
	else if (asking->out)
		buf_add(asking->out, answer->body.data, answer->body.len);
}

static int piece(void *arg, const void *at, size_t bytes)
{
	struct asking *asking = arg;

	asking->heard_ns = monotonic_ns();
	buf_add(&asking->pending, at, bytes);
	if (buf_err(&asking->pending) < 0)
		asking->result = buf_err(&asking->pending);
	return asking->result;
}

/* More may come while it is taken. */
static int drain(struct asking *asking)
{
	int r = 0;

	while (asking->take && asking->pending.len && r == 0) {
		_cleanup_(buf_done) struct buf taken = asking->pending;

		buf_init(&asking->pending, PENDING_MAX);
		r = asking->take(asking->arg, taken.data, taken.len);
	}
	return r;
}

static int ask_once(struct k8s_api *api, const char *path, s64 timeout_ns, s64 silence_ns, struct asking *asking)
{
	struct http_header header = { "authorization", api->authorization };
	struct client_request *request;
	struct buf url;
	struct client_call call = { .method = "GET", .headers = &header, .header_count = api->has_token,
				    .timeout_ns = timeout_ns,
				    .answer_max = asking->out ? asking->out->max : ANSWER_MAX, .done = done,
					    .arg = asking,
				    .piece = asking->take ? piece : NULL };
	int r;

	if (api->has_token && monotonic_ns() - api->token_ns > TOKEN_NS)
		read_token(api);
	buf_init(&asking->pending, PENDING_MAX);
	buf_init(&url, 8192);
	buf_addf(&url, "%s%s", api->base, path);
	call.url = url.data;
	r = buf_err(&url);
	if (r == 0)
		r = client_begin(api->client, &call, &request);
	buf_done(&url);
	asking->heard_ns = monotonic_ns();
	while (r == 0 && !asking->is_done) {
		client_wait(api->client, LOOK_MS);
		r = drain(asking);
		if (r == 0 && !asking->is_done && k8s_api_is_stopped(api))
			r = -ECANCELED;
		else if (r == 0 && !asking->is_done && silence_ns &&
			 monotonic_ns() - asking->heard_ns > (u64)silence_ns)
			r = -ETIMEDOUT;
		if (r < 0 && !asking->is_done)
			client_cancel(api->client, request);
	}
	buf_done(&asking->pending);
	if (r == -ETIMEDOUT)
		buf_addf(asking->why, "nothing comes from the API server");
	return r < 0 ? r : asking->result;
}

static int ask(struct k8s_api *api, const char *path, s64 timeout_ns, s64 silence_ns, struct asking *asking)
{
	int r = ask_once(api, path, timeout_ns, silence_ns, asking);

	/* A token that was just replaced. */
	if (r == 0 && asking->answer->status == 401 && api->has_token) {
		asking->is_done = false;
		if (asking->out)
			asking->out->len = 0;
		read_token(api);
		r = ask_once(api, path, timeout_ns, silence_ns, asking);
	}
	return r;
}

int k8s_api_get(struct k8s_api *api, const char *path, s64 timeout_ns, struct buf *out, struct k8s_answer *ret_answer,
		struct buf *why)
{
	struct asking asking = { .out = out, .why = why, .answer = ret_answer };
	int r = ask(api, path, timeout_ns, 0, &asking);

	return r < 0 ? r : buf_err(out);
}

int k8s_api_stream(struct k8s_api *api, const char *path, s64 silence_ns, int (*take)(void *arg, const char *at,
										      size_t len),
		   void *arg, struct k8s_answer *ret_answer, struct buf *why)
{
	struct asking asking = { .why = why, .answer = ret_answer, .take = take, .arg = arg };

	return ask(api, path, 0, silence_ns, &asking);
}
