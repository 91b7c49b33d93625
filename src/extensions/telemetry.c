// SPDX-License-Identifier: Apache-2.0
#include "extensions/telemetry.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "extensions/host_metrics.h"
#include "extensions/http_endpoint.h"
#include "extensions/metric_push.h"
#include "extensions/prometheus_text.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/telemetry.h"
#include "proc/host_identity.h"

#define TEXT_MAX (16u << 20)
#define LABELS_MAX 4096
#define ENDPOINT_MAX 300

struct reader {
	struct telemetry *telemetry;
	struct http_endpoint endpoint;
	struct prometheus_naming naming;
	struct buf labels;		/* of naming */
};

struct telemetry {
	const struct telemetry_options *options;
	struct service *service;
	struct host_metrics *host;
	bool is_source;
	char instance_id[40];
	struct buf target;		/* the labels of target_info */
	struct reader *readers;
	u32 reader_count;

	struct host_identity identity;
	struct config_pair *attributes;	/* of what is sent */
	struct config_pairs resource;
	struct metric_push **pushes;
	u32 push_count;
};

/* ---- Resource ---------------------------------------------------------------------- */

/* A random UUID: which of many this one is. */
static void make_instance_id(char ret_id[40])
{
	u8 b[16] = { 0 };
	size_t len = 0;

	(void)!getrandom(b, sizeof(b), GRND_NONBLOCK);
	b[6] = (u8)((b[6] & 0x0f) | 0x40);
	b[8] = (u8)((b[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++) {
		bool begins_group = i == 4 || i == 6 || i == 8 || i == 10;

		len += (size_t)snprintf(ret_id + len, 40 - len, "%s%02x", begins_group ? "-" : "", b[i]);
	}
}

static const char *configured(const struct telemetry *t, const char *key)
{
	for (u32 i = 0; i < t->options->resource.count; i++)
		if (!strcmp(t->options->resource.at[i].key, key))
			return t->options->resource.at[i].value;
	return NULL;
}

static bool is_included(const struct config_texts *patterns, const char *key)
{
	for (u32 i = 0; i < patterns->count; i++)
		if (fnmatch(patterns->at[i], key, 0) == 0)
			return true;
	return !patterns->count;
}

/* All attributes of the resource, or those that match; an empty value takes one away. */
static void add_labels(const struct telemetry *t, const struct config_texts *patterns, struct buf *out)
{
	const struct config_pair standard[] = {
		{ "service.instance.id", t->instance_id },
		{ "service.name", "wick" },
		{ "service.version", WICK_VERSION },
	};

	for (u32 i = 0; i < 3; i++)
		if (!configured(t, standard[i].key) && is_included(patterns, standard[i].key))
			prometheus_label(out, standard[i].key, standard[i].value);
	for (u32 i = 0; i < t->options->resource.count; i++) {
		const struct config_pair *pair = &t->options->resource.at[i];

		if (*pair->value && is_included(patterns, pair->key))
			prometheus_label(out, pair->key, pair->value);
	}
	buf_addf(out, "%s", "");
}

/* What is sent says of which host it is, too. */
static int make_resource(struct telemetry *t)
{
	const struct config_pair standard[] = {
		{ "service.instance.id", t->instance_id }, { "service.name", "wick" },
		{ "service.version", WICK_VERSION }, { "host.name", t->identity.name }, { "host.id", t->identity.id },
	};
	const struct config_pairs *given = &t->options->resource;
	u32 count = 0;

	host_identity_read("/", &t->identity);
	t->attributes = calloc(sizeof(standard) / sizeof(*standard) + given->count, sizeof(*t->attributes));
	if (!t->attributes)
		return -ENOMEM;
	for (u32 i = 0; i < sizeof(standard) / sizeof(*standard); i++)
		if (*standard[i].value && !configured(t, standard[i].key))
			t->attributes[count++] = standard[i];
	for (u32 i = 0; i < given->count; i++)
		if (*given->at[i].value)
			t->attributes[count++] = given->at[i];
	t->resource = (struct config_pairs){ count, t->attributes };
	return 0;
}

/* ---- Scrapes ------------------------------------------------------------------------- */

static void serve_metrics(void *arg, struct exchange *exchange)
{
	const struct reader *reader = arg;
	_cleanup_(buf_done) struct buf plain;
	struct buf body;

	buf_init(&plain, TEXT_MAX);
	buf_init(&body, TEXT_MAX);
	metrics_render(service_metrics(reader->telemetry->service), &plain);
	if (buf_err(&plain)) {
		http_reply_text(exchange, 500, "There is not enough memory to show the metrics.");
		return;
	}
	prometheus_rename(plain.data, plain.len, &reader->naming, &body);
	buf_addf(&body, "# HELP target_info Target metadata\n# TYPE target_info gauge\ntarget_info{%s} 1\n",
		 reader->telemetry->target.data);
	http_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", &body);
}

/* ---- Life ----------------------------------------------------------------------------- */

static void telemetry_free(void *self)
{
	struct telemetry *t = self;

	if (!t)
		return;
	for (u32 i = 0; i < t->reader_count; i++)
		buf_done(&t->readers[i].labels);
	buf_done(&t->target);
	free(t->readers);
	free(t->pushes);
	free(t->attributes);
	host_metrics_free(t->host);
	free(t);
}

static int telemetry_create(const struct component_setup *setup, const void *options, void **ret_self,
			    struct buf *why)
{
	struct telemetry *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->options = options;
	t->service = setup->service;
	buf_init(&t->target, LABELS_MAX);
	make_instance_id(t->instance_id);
	*ret_self = t;
	return 0;
}

static int open_reader(struct telemetry *t, const struct telemetry_reader *options, struct reader *reader,
		       struct buf *why)
{
	const char *host = options->prometheus.host;
	bool is_ipv6 = strchr(host, ':') && *host != '[';
	char address[ENDPOINT_MAX];
	struct http_endpoint_options where = HTTP_ENDPOINT_DEFAULTS(address);
	int r;

	buf_init(&reader->labels, LABELS_MAX);
	if (options->prometheus.resource_labels.count)
		add_labels(t, &options->prometheus.resource_labels, &reader->labels);
	reader->telemetry = t;
	reader->naming = (struct prometheus_naming){
		.type_suffix = !options->prometheus.without_type_suffix,
		.units = !options->prometheus.without_units,
		.labels = reader->labels.data ? reader->labels.data : "",
	};
	(void)snprintf(address, sizeof(address), is_ipv6 ? "[%s]:%lld" : "%s:%lld", host, options->prometheus.port);
	r = http_endpoint_open(&reader->endpoint, t->service, &where, reader, why);
	if (r == 0)
		r = http_endpoint_route(&reader->endpoint, "GET", "/metrics", serve_metrics, why);
	if (r < 0)
		buf_addf(why, "; service::telemetry::metrics says where metrics are served, and level: none that "
			 "they are not");
	return r;
}

static int open_readers(struct telemetry *t, struct buf *why)
{
	const struct config_sections *sections = &t->options->metrics.readers;
	const struct telemetry_reader *at = sections->at;
	int r = 0;

	t->readers = calloc(sections->count + 1, sizeof(*t->readers));
	if (!t->readers)
		return -ENOMEM;
	for (u32 i = 0; i < sections->count && r == 0; i++)
		if (at[i].prometheus.has_prometheus)
			r = open_reader(t, &at[i], &t->readers[t->reader_count++], why);
	return r;
}

static int start_pushes(struct telemetry *t, struct buf *why)
{
	const struct config_sections *sections = &t->options->metrics.readers;
	const struct telemetry_reader *at = sections->at;
	int r = 0;

	t->pushes = calloc(sections->count + 1, sizeof(*t->pushes));
	if (!t->pushes)
		return -ENOMEM;
	for (u32 i = 0; i < sections->count && r == 0; i++) {
		if (!at[i].periodic.has_otlp)
			continue;
		if (!t->attributes)
			r = make_resource(t);
		if (r == 0)
			r = metric_push_start(&at[i].periodic, service_metrics(t->service), &t->resource,
					      &t->pushes[t->push_count], why);
		t->push_count += r == 0;
	}
	return r;
}

static void telemetry_stop(void *self, u64 deadline_ns)
{
	struct telemetry *t = self;

	for (u32 i = 0; i < t->push_count; i++)
		metric_push_stop(t->pushes[i]);
	t->push_count = 0;
	for (u32 i = 0; i < t->reader_count; i++)
		http_endpoint_close(&t->readers[i].endpoint, deadline_ns);
	if (t->is_source)
		metrics_forget_source(service_metrics(t->service), host_metrics_put, t->host);
	t->is_source = false;
}

static int telemetry_start(void *self, struct buf *why)
{
	struct telemetry *t = self;
	int r;

	if (t->options->metrics.level == TELEMETRY_NONE)
		return 0;
	add_labels(t, &(struct config_texts){ 0 }, &t->target);
	t->host = host_metrics_new();
	if (!t->host || buf_err(&t->target))
		return -ENOMEM;
	r = metrics_add_source(service_metrics(t->service), host_metrics_put, t->host);
	t->is_source = r == 0;
	if (r == 0)
		r = open_readers(t, why);
	if (r == 0)
		r = start_pushes(t, why);
	if (r < 0)
		telemetry_stop(t, 0);
	return r;
}

const struct component_ops telemetry_component = {
	.type = "telemetry",
	.help = "serves metrics about wick and this machine to Prometheus, or sends them by OTLP",
	.fields = telemetry_fields,
	.options_bytes = sizeof(struct telemetry_options),
	.defaults = &telemetry_defaults,
	.check = telemetry_check,
	.create = telemetry_create,
	.start = telemetry_start,
	.stop = telemetry_stop,
	.free = telemetry_free,
};
