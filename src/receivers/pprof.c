// SPDX-License-Identifier: Apache-2.0
/* pprof: asks a program that serves /debug/pprof for a profile, again and again. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "net/client.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/ticker.h"
#include "profile/profile.h"
#include "receivers/receipts.h"
#include "wire/compression.h"
#include "wire/pprof/pprof.h"

#define URL_MAX 4096
#define HEADERS_MAX 64
#define SECOND 1000000000ll
#define PROFILE_PATH "/debug/pprof/profile"
#define PROFILE_SECONDS_MAX 30
#define TIMEOUT_MIN (30 * SECOND)
#define TIMEOUT_SPARE (10 * SECOND)

struct pprof_options {
	const char *endpoint, *proxy_url;
	s64 collection_interval_ns, initial_delay_ns, timeout_ns;
	struct tls_client_options tls;
	struct config_pairs headers;
	struct {
		const char *authenticator;
	} auth;
};

#define AT(member) FIELD(struct pprof_options, member)
static const struct config_field auth_fields[] = {
	{ "authenticator", CONFIG_TEXT, AT(auth.authenticator), .required = true,
	  .help = "id of an extension that gives the Authorization header" },
	{ 0 },
};

static const struct config_field pprof_fields[] = {
	{ "endpoint", CONFIG_TEXT, AT(endpoint), .required = true,
	  .help = "URL of a profile; http://host:port alone stands for its " PROFILE_PATH },
	{ "collection_interval", CONFIG_DURATION, AT(collection_interval_ns), .min = 1e7, .max = 86400e9,
	  .help = "how often to ask" },
	{ "initial_delay", CONFIG_DURATION, AT(initial_delay_ns), .max = 86400e9, .help = "before the first time" },
	{ "timeout", CONFIG_DURATION, AT(timeout_ns), .max = 86400e9,
	  .help = "of one answer; the interval and 10 s unless given, 40 s at least" },
	{ "headers", CONFIG_PAIRS, AT(headers), .secret = true, .help = "headers of each request" },
	{ "tls", CONFIG_SECTION, AT(tls), .fields = tls_client_fields, .help = "TLS of https://" },
	{ "auth", CONFIG_SECTION, 0, .fields = auth_fields, .help = "who gives the Authorization header" },
	{ "proxy_url", CONFIG_TEXT, AT(proxy_url), .help = "a proxy; if not given the environment says" },
	{ "include", CONFIG_REFUSED, .help = "files are not read; `wick convert` turns them into OTLP" },
	{ "compression", CONFIG_NEEDLESS, .help = "requests have no body to compress" },
	{ "compression_params", CONFIG_NEEDLESS, .help = "requests have no body to compress" },
	{ "read_buffer_size", CONFIG_NEEDLESS, .help = "the buffers are libcurl's" },
	{ "write_buffer_size", CONFIG_NEEDLESS, .help = "the buffers are libcurl's" },
	{ "max_idle_conns", CONFIG_NEEDLESS, .help = "there is one connection" },
	{ "max_idle_conns_per_host", CONFIG_NEEDLESS, .help = "there is one connection" },
	{ "max_conns_per_host", CONFIG_NEEDLESS, .help = "there is one connection" },
	{ "idle_conn_timeout", CONFIG_NEEDLESS, .help = "there is one connection" },
	{ "force_attempt_http2", CONFIG_NEEDLESS, .help = "HTTP/2 over TLS where the server has it" },
	{ "disable_keep_alives", CONFIG_REFUSED, .help = "wick keeps its connection; remove it" },
	{ "cookies", CONFIG_REFUSED, .help = "wick keeps no cookies; remove it" },
	{ "middlewares", CONFIG_REFUSED, .help = "wick has no such extensions; remove it" },
	{ 0 },
};

static const struct pprof_options pprof_defaults = {
	.endpoint = "", .proxy_url = "", .auth = { "" }, .collection_interval_ns = 60 * SECOND,
	.initial_delay_ns = SECOND,
};

struct pprof {
	const struct component_setup *setup;
	const struct pprof_options *options;
	struct receipts receipts;
	const struct authenticator_ops *authenticator;	/* or NULL */
	void *authenticator_self;
	char url[URL_MAX];
	s64 timeout_ns;
	struct client *client;		/* the ticker's, while it runs */
	struct ticker *ticker;
	atomic_bool stop;

	bool answered;			/* the request under way */
};

static void pprof_check(const void *options, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct pprof_options *o = options;

	if (*o->endpoint && strncmp(o->endpoint, "http://", 7) && strncmp(o->endpoint, "https://", 8))
		config_error(errors, place, path, "endpoint must start with http:// or https://");
	if (strlen(o->endpoint) > URL_MAX - 64)
		config_error(errors, place, path, "endpoint is longer than %d", URL_MAX - 64);
	if (o->headers.count > HEADERS_MAX)
		config_error(errors, place, path, "more than %d headers", HEADERS_MAX);
	tls_client_check(&o->tls, place, path, errors);
}

/* Without a path a profile of CPU time, of half the interval: the program is sampled all the while. */
static void make_url(const struct pprof_options *o, char url[URL_MAX])
{
	const char *host = strstr(o->endpoint, "://"), *path = host ? strchr(host + 3, '/') : NULL;
	s64 seconds = o->collection_interval_ns / SECOND / 2;

	if (path && path[1]) {
		snprintf(url, URL_MAX, "%s", o->endpoint);
		return;
	}
	seconds = seconds < 1 ? 1 : seconds > PROFILE_SECONDS_MAX ? PROFILE_SECONDS_MAX : seconds;
	snprintf(url, URL_MAX, "%.*s" PROFILE_PATH "?seconds=%lld",
		 (int)(path ? path - o->endpoint : (ptrdiff_t)strlen(o->endpoint)), o->endpoint, (long long)seconds);
}

static void pprof_free(void *self)
{
	struct pprof *p = self;

	if (p)
		client_free(p->client);
	free(p);
}
DEFINE_CLEANUP(void *, pprof_free)

static int find_authenticator(struct pprof *p, struct buf *why)
{
	const char *id = p->options->auth.authenticator;
	const struct component_ops *ops;

	if (!*id)
		return 0;
	ops = service_extension(p->setup->service, id, &p->authenticator_self);
	if (!ops || !ops->authenticator || !ops->authenticator->header) {
		buf_addf(why, "auth::authenticator %s is not an authenticator that service::extensions names", id);
		return -EINVAL;
	}
	p->authenticator = ops->authenticator;
	return 0;
}

static int pprof_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	_cleanup_(pprof_freep) void *self = calloc(1, sizeof(struct pprof));
	struct pprof *p = self;
	int r;

	if (!p)
		return -ENOMEM;
	p->setup = setup;
	p->options = options;
	make_url(p->options, p->url);
	p->timeout_ns = p->options->timeout_ns;
	if (!p->timeout_ns) {
		p->timeout_ns = p->options->collection_interval_ns;
		p->timeout_ns = (p->timeout_ns > TIMEOUT_MIN ? p->timeout_ns : TIMEOUT_MIN) + TIMEOUT_SPARE;
	}
	receipts_init(&p->receipts, service_metrics(setup->service), setup, "http");
	r = find_authenticator(p, why);
	if (r == 0)
		r = client_new(&(struct client_options){ .tls = &p->options->tls, .proxy_url = p->options->proxy_url },
			       &p->client, why);
	if (r < 0)
		return r;
	*ret_self = TAKE(self);
	return 0;
}

/* ---- What came ----------------------------------------------------------------------- */

/* The parts of http://host:port/path, as attributes; how many. */
static u32 source_attributes(const char *url, struct keyvalue attributes[2])
{
	const char *host = strstr(url, "://") + 3, *colon;
	size_t len = strcspn(host, "/?");
	u32 count = 0;

	colon = memrchr(host, ':', len);
	/* "[::1]" has colons of its own. */
	if (colon && memchr(colon, ']', len - (size_t)(colon - host)))
		colon = NULL;
	attributes[count++] = (struct keyvalue){
		STR("server.address"),
		{ .kind = ANY_STRING, .string = { host, (u32)(colon ? (size_t)(colon - host) : len) } },
	};
	if (colon)
		attributes[count++] = (struct keyvalue){
			STR("server.port"), { .kind = ANY_INT, .integer = strtol(colon + 1, NULL, 10) },
		};
	return count;
}

/* Where it came from, on each resource that does not say it. */
static void name_source(struct profile *profile, const char *url)
{
	struct keyvalue source[2];
	u32 count = source_attributes(url, source);
	const struct keyvalue *copy = profile_copy_keyvalues(profile, source, count);

	for (u32 i = 0; copy && i < profile->resources.count; i++) {
		struct profile_resource *r = &profile->resources.at[i];
		struct keyvalue *grown;

		if (keyvalue_find(r->attributes, r->attribute_count, "server.address"))
			continue;
		grown = profile_alloc(profile, (r->attribute_count + count) * sizeof(*grown));
		if (!grown)
			return;
		if (r->attribute_count)
			memcpy(grown, r->attributes, r->attribute_count * sizeof(*grown));
		memcpy(grown + r->attribute_count, copy, count * sizeof(*grown));
		r->attributes = grown;
		r->attribute_count += count;
	}
}

static int read_profile(const struct buf *body, struct profile **ret_profile)
{
	enum compression kind = compression_of(body->data, body->len);
	struct buf plain;
	int r;

	if (kind == COMPRESSION_NONE)
		return pprof_decode(body->data, body->len, ret_profile);
	buf_init(&plain, BATCH_BYTES_MAX);
	r = compression_unpack(kind, body->data, body->len, &plain);
	if (r == 0)
		r = pprof_decode(plain.data, plain.len, ret_profile);
	buf_done(&plain);
	return r;
}

static void take_profile(struct pprof *p, struct profile *profile)
{
	struct batch *batch;

	name_source(profile, p->url);
	batch = profile_err(profile) ? NULL : batch_from_profile(profile);
	if (!batch) {
		profile_free(profile);
		log_warn(p->setup->id, "out of memory: a profile is left out");
		return;
	}
	component_report(p->setup->status, HEALTH_OK, "");
	if (batch_samples(batch)) {
		(void)receipts_send(&p->receipts, batch);	/* counted there */
		return;
	}
	batch_unref(batch);
	receipts_nothing(&p->receipts);
}

static void fail(struct pprof *p, const char *why)
{
	char text[512];

	receipts_failed(&p->receipts, 0);
	snprintf(text, sizeof(text), "%.200s: %.250s", p->url, why);
	component_report(p->setup->status, HEALTH_RECOVERABLE, text);
}

static void on_answer(void *self, const struct client_answer *answer)
{
	struct pprof *p = self;
	struct profile *profile;
	char status[64];

	p->answered = true;
	if (answer->error < 0)
		return fail(p, answer->error_text);
	if (answer->status != 200) {
		snprintf(status, sizeof(status), "answers with status %d", answer->status);
		return fail(p, status);
	}
	if (answer->too_large)
		return fail(p, "sends a profile that is too large");
	if (read_profile(&answer->body, &profile) < 0)
		return fail(p, "sends something that is not a pprof profile");
	take_profile(p, profile);
}

/* ---- Asking ---------------------------------------------------------------------------- */

static void wait_for_answer(struct pprof *p, struct client_request *request)
{
	while (!p->answered) {
		if (atomic_load(&p->stop)) {
			client_cancel(p->client, request);
			return;
		}
		client_wait(p->client, -1);
	}
}

static void pprof_tick(void *self)
{
	struct pprof *p = self;
	struct http_header headers[HEADERS_MAX + 1];
	struct client_call call = {
		.method = "GET", .url = p->url, .headers = headers, .timeout_ns = p->timeout_ns,
		.answer_max = BATCH_BYTES_MAX, .done = on_answer, .arg = p,
	};
	struct client_request *request;
	struct buf authorization;

	for (u32 i = 0; i < p->options->headers.count; i++)
		headers[call.header_count++] = (struct http_header){ p->options->headers.at[i].key,
								     p->options->headers.at[i].value };
	buf_init(&authorization, 8192);
	if (p->authenticator && p->authenticator->header(p->authenticator_self, &authorization) == 0) {
		const struct authenticator_ops *ops = p->authenticator;
		const char *name = ops->header_name ? ops->header_name(p->authenticator_self) : "authorization";

		headers[call.header_count++] = (struct http_header){ name, authorization.data };
	}
	p->answered = false;
	if (client_begin(p->client, &call, &request) == 0)
		wait_for_answer(p, request);
	else
		fail(p, "cannot be asked for");
	buf_done(&authorization);
}

static int pprof_start(void *self, struct buf *why)
{
	struct pprof *p = self;
	int r = ticker_start(&(struct ticker_options){ .name = "wick: pprof", .tick = pprof_tick, .arg = p,
						       .delay_ns = p->options->initial_delay_ns,
						       .interval_ns = p->options->collection_interval_ns }, &p->ticker);

	if (r < 0)
		buf_addf(why, "cannot start a thread: %s", strerror(-r));
	return r;
}

static void pprof_stop(void *self, u64 deadline_ns)
{
	struct pprof *p = self;

	atomic_store(&p->stop, true);
	client_wake(p->client);
	ticker_stop(TAKE(p->ticker));
}

const struct component_ops receiver_pprof = {
	.type = "pprof",
	.help = "profiles of a program that serves /debug/pprof",
	.fields = pprof_fields,
	.options_bytes = sizeof(struct pprof_options),
	.defaults = &pprof_defaults,
	.check = pprof_check,
	.create = pprof_create,
	.start = pprof_start,
	.stop = pprof_stop,
	.free = pprof_free,
};
