// SPDX-License-Identifier: Apache-2.0
#include "extensions/metric_push.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "extensions/otlp_metrics.h"
#include "net/client.h"
#include "pipeline/telemetry.h"
#include "pipeline/ticker.h"
#include "wire/compression.h"

#define NS_PER_MS 1000000
#define BODY_MAX (16u << 20)
#define URL_MAX 2048
#define HEADERS_MAX 32
#define AGAIN_NS (3600ll * 1000 * NS_PER_MS)	/* before who takes no metrics is asked again */
#define GRPC_UNIMPLEMENTED "12"
#define WAIT_MS 100		/* how soon it is seen that it is to stop */
#define LAST_TIMEOUT_NS (2ll * 1000 * NS_PER_MS)	/* nobody waits longer for the end of wick */
#define HTTP_PATH "/v1/metrics"
#define GRPC_PATH "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

static const char self[] = "telemetry";

struct metric_push {
	const struct telemetry_periodic *options;
	const struct config_pairs *resource;
	struct metrics *metrics;
	struct metric *sent, *failed;
	struct tls_client_options tls;
	struct client *client;
	struct ticker *ticker;
	struct otlp_metrics_times times;
	char url[URL_MAX];
	struct http_header headers[HEADERS_MAX];
	u32 header_count;
	_Atomic bool is_stopping;
	bool has_failed;		/* and that was said */
	u64 rests_until_ns;		/* CLOCK_MONOTONIC; 0: metrics are taken, as far as is known */
};

/* One request, and what came of it. */
struct attempt {
	bool is_done;
	bool is_unknown;		/* metrics are not taken there */
	char problem[400];		/* "": it was taken */
};

static bool is_grpc(const struct telemetry_periodic *options)
{
	return options->protocol != TELEMETRY_HTTP;
}

/* ---- A request ----------------------------------------------------------------------- */

static void take_answer(void *arg, const struct client_answer *answer)
{
	struct attempt *attempt = arg;
	const char *status = client_answer_header(answer, "grpc-status");
	const char *message = client_answer_header(answer, "grpc-message");

	attempt->is_done = true;
	attempt->is_unknown = !answer->error &&
			      (answer->status == 404 || answer->status == 405 || answer->status == 501 ||
			       (status && !strcmp(status, GRPC_UNIMPLEMENTED)));
	if (answer->error)
		snprintf(attempt->problem, sizeof(attempt->problem), "%s", answer->error_text);
	else if (answer->status / 100 != 2)
		snprintf(attempt->problem, sizeof(attempt->problem), "it answered %d", answer->status);
	else if (status && strcmp(status, "0"))
		snprintf(attempt->problem, sizeof(attempt->problem), "it answered with gRPC's status %.8s: %.300s",
			 status, message ? message : "");
}

static int make_body(struct metric_push *p, struct buf *body)
{
	_cleanup_(buf_done) struct buf plain;
	int r;

	buf_init(&plain, BODY_MAX);
	p->times.now_ns = clock_ns(CLOCK_REALTIME);
	p->times.booted_ns = p->times.now_ns - clock_ns(CLOCK_BOOTTIME);
	otlp_metrics_encode(p->metrics, &(struct otlp_metrics_options){ p->resource,
			    p->options->about == TELEMETRY_ABOUT_MACHINE }, &p->times, &plain);
	r = buf_err(&plain);
	if (r < 0)
		return r;
	if (p->options->compression != TELEMETRY_GZIP) {
		buf_add(body, plain.data, plain.len);
		return buf_err(body);
	}
	return compression_pack(COMPRESSION_GZIP, plain.data, plain.len, body);
}

static struct client_call make_call(const struct metric_push *p, const struct buf *body, struct attempt *attempt)
{
	struct client_call call = { .method = "POST", .url = p->url, .headers = p->headers,
				    .header_count = p->header_count, .body = body->data, .body_bytes = body->len,
				    .timeout_ns = p->options->timeout_ms * NS_PER_MS, .done = take_answer,
				    .arg = attempt };

	if (is_grpc(p->options))
		client_call_set_grpc(&call, p->options->compression == TELEMETRY_GZIP);
	return call;
}

static void tell(struct metric_push *p, const char *problem)
{
	metric_add(*problem ? p->failed : p->sent, 1);
	if (*problem && !p->has_failed)
		log_warn(self, "metrics could not be sent to %s: %s; their values are in what is sent next", p->url,
			 problem);
	else if (!*problem && p->has_failed)
		log_info(self, "metrics are sent to %s again", p->url);
	p->has_failed = *problem;
}

/* Nothing is wrong with a Collector that has no pipeline for them. */
static void rest(struct metric_push *p)
{
	if (!p->rests_until_ns)
		log_info(self, "%s takes no metrics: it gets none of this machine, and is asked again in an hour",
			 p->url);
	p->rests_until_ns = monotonic_ns() + AGAIN_NS;
}

/* until_ns: given up then, and as soon as it is to stop if that is 0. */
static void send_once(struct metric_push *p, u64 until_ns)
{
	_cleanup_(buf_done) struct buf body;
	struct client_request *request;
	struct attempt attempt = { 0 };
	struct client_call call;
	int r;

	buf_init(&body, BODY_MAX);
	r = make_body(p, &body);
	call = make_call(p, &body, &attempt);
	if (r == 0)
		r = client_begin(p->client, &call, &request);
	if (r < 0) {
		tell(p, strerror(-r));
		return;
	}
	while (!attempt.is_done && (until_ns ? monotonic_ns() < until_ns : !atomic_load(&p->is_stopping)))
		client_wait(p->client, WAIT_MS);
	if (!attempt.is_done) {
		client_cancel(p->client, request);
		snprintf(attempt.problem, sizeof(attempt.problem), "there was no answer before the end");
	}
	if (attempt.is_unknown && p->options->if_taken)
		rest(p);
	else
		tell(p, attempt.problem);
	if (!*attempt.problem)
		p->rests_until_ns = 0;
}

static void tick(void *arg)
{
	struct metric_push *p = arg;

	if (monotonic_ns() >= p->rests_until_ns)
		send_once(p, 0);
}

/* ---- Life ---------------------------------------------------------------------------- */

static void add_header(struct metric_push *p, const char *name, const char *value)
{
	if (p->header_count < HEADERS_MAX)
		p->headers[p->header_count++] = (struct http_header){ name, value };
}

static void set_headers(struct metric_push *p)
{
	bool grpc = is_grpc(p->options);

	add_header(p, "content-type", grpc ? "application/grpc" : "application/x-protobuf");
	if (grpc)
		add_header(p, "te", "trailers");
	if (p->options->compression == TELEMETRY_GZIP)
		add_header(p, grpc ? "grpc-encoding" : "content-encoding", "gzip");
	for (u32 i = 0; i < p->options->headers.count; i++)
		add_header(p, p->options->headers.at[i].key, p->options->headers.at[i].value);
}

/* As OpenTelemetry's SDKs take it: a path of its own stays, and none is the usual one. */
static void set_url(struct metric_push *p)
{
	const char *endpoint = p->options->endpoint, *scheme_end = strstr(endpoint, "://");
	const char *host = scheme_end ? scheme_end + 3 : endpoint;
	size_t host_bytes = strcspn(host, "/");
	bool has_path = host[host_bytes] && host[host_bytes + 1];
	const char *scheme = p->options->insecure || !is_grpc(p->options) ? "http://" : "https://";

	snprintf(p->url, sizeof(p->url), "%s%.*s%s", scheme_end ? "" : scheme,
		 (int)(host - endpoint) + (int)host_bytes, endpoint,
		 is_grpc(p->options) ? GRPC_PATH : has_path ? host + host_bytes : HTTP_PATH);
}

static void push_free(struct metric_push *push)
{
	if (!push)
		return;
	client_free(push->client);
	free(push);
}
DEFINE_CLEANUP(struct metric_push *, push_free)

int metric_push_start(const struct telemetry_periodic *options, struct metrics *metrics,
		      const struct config_pairs *resource, struct metric_push **ret_push, struct buf *why)
{
	_cleanup_(push_freep) struct metric_push *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->options = options;
	p->metrics = metrics;
	p->resource = resource;
	p->times.started_ns = clock_ns(CLOCK_REALTIME);
	p->tls = (struct tls_client_options){ .ca_file = options->certificate, .cert_file = options->client_certificate,
					      .key_file = options->client_key };
	p->sent = metrics_get(metrics, METRIC_COUNTER, "wick_metrics_pushes", "Times metrics were sent by OTLP", NULL,
			      0);
	p->failed = metrics_get(metrics, METRIC_COUNTER, "wick_metrics_push_failures",
				"Times metrics could not be sent by OTLP; their values are in what is sent next",
				NULL, 0);
	set_url(p);
	set_headers(p);
	r = client_new(&(struct client_options){ .tls = &p->tls, .unix_socket = "", .proxy_url = "", .user_agent = "" },
		       &p->client, why);
	if (r == 0)
		r = ticker_start(&(struct ticker_options){ "wick: metrics", options->interval_ms * NS_PER_MS,
							   options->interval_ms * NS_PER_MS, tick, p }, &p->ticker);
	if (r == 0)
		*ret_push = TAKE(p);
	return r;
}

void metric_push_stop(struct metric_push *push)
{
	if (!push)
		return;
	atomic_store(&push->is_stopping, true);
	ticker_stop(push->ticker);
	if (!push->has_failed && !push->rests_until_ns)
		send_once(push, monotonic_ns() + LAST_TIMEOUT_NS);
	push_free(push);
}
