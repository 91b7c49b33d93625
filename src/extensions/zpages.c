// SPDX-License-Identifier: Apache-2.0
/* Pages that show what runs: pipelines, components and their last errors, queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "extensions/http_endpoint.h"
#include "extensions/metric_text.h"
#include "extensions/zpages_html.h"
#include "pipeline/component.h"
#include "pipeline/service.h"

#define PAGE_MAX (16u << 20)

/* What is shown of a configuration that has more. */
#define COMPONENTS_MAX 4096

struct options {
	struct http_endpoint_options http;
	bool expvar;
};

struct zpages {
	const struct options *options;
	struct service *service;
	struct http_endpoint endpoint;
	u64 started_unix_ns;
};

static const struct options defaults = { .http = HTTP_ENDPOINT_DEFAULTS("localhost:55679") };

static const struct config_field expvar_fields[] = {
	{ "enabled", CONFIG_BOOL, FIELD(struct options, expvar), .help = "serve metrics as JSON at /debug/expvarz" },
	{ 0 },
};

static const struct config_field fields[] = {
	HTTP_ENDPOINT_FIELDS(struct options, http),
	{ "expvar", CONFIG_SECTION, 0, .fields = expvar_fields, .help = "numbers as JSON" },
	{ 0 },
};

/* ---- What is shown ------------------------------------------------------------------- */

/* Memory of a view. */
struct gathered {
	struct component_view *components;
	struct pipeline_view *pipelines;
	u32 component_count, component_cap, pipeline_count, pipeline_cap;
	struct buf metrics;
};

static void gathered_done(struct gathered *g)
{
	free(g->components);
	free(g->pipelines);
	buf_done(&g->metrics);
}

static int gather(struct service *service, struct gathered *g)
{
	struct component_view component;
	struct pipeline_view pipeline;

	for (u32 i = 0; i < COMPONENTS_MAX && service_component(service, i, &component) == 0; i++) {
		if (array_reserve(&g->components, &g->component_cap, i + 1, sizeof(*g->components)) < 0)
			return -ENOMEM;
		g->components[g->component_count++] = component;
	}
	for (u32 i = 0; i < COMPONENTS_MAX && service_pipeline(service, i, &pipeline) == 0; i++) {
		if (array_reserve(&g->pipelines, &g->pipeline_cap, i + 1, sizeof(*g->pipelines)) < 0)
			return -ENOMEM;
		g->pipelines[g->pipeline_count++] = pipeline;
	}
	metrics_render(service_metrics(service), &g->metrics);
	buf_addf(&g->metrics, "%s", "");
	return buf_err(&g->metrics);
}

static void serve(struct zpages *self, struct exchange *exchange,
		  void (*page)(const struct zpages_view *view, struct buf *out))
{
	_cleanup_(gathered_done) struct gathered g = { 0 };
	struct buf body;

	buf_init(&g.metrics, PAGE_MAX);
	if (gather(self->service, &g) < 0) {
		http_reply_text(exchange, 500, "There is not enough memory to draw this page.");
		return;
	}
	buf_init(&body, PAGE_MAX);
	page(&(struct zpages_view){ g.components, g.component_count, g.pipelines, g.pipeline_count, g.metrics.data,
				    self->started_unix_ns, clock_ns(CLOCK_REALTIME) }, &body);
	http_reply(exchange, 200, CONTENT_HTML, &body);
}

static void serve_index(void *self, struct exchange *exchange)
{
	serve(self, exchange, zpages_index);
}

static void serve_service(void *self, struct exchange *exchange)
{
	serve(self, exchange, zpages_service);
}

static void serve_pipelines(void *self, struct exchange *exchange)
{
	serve(self, exchange, zpages_pipelines);
}

static void serve_extensions(void *self, struct exchange *exchange)
{
	serve(self, exchange, zpages_extensions);
}

static void serve_features(void *self, struct exchange *exchange)
{
	serve(self, exchange, zpages_features);
}

static void serve_traces(void *self, struct exchange *exchange)
{
	http_reply_text(exchange, 404, "wick makes no traces of itself; /debug/pipelinez shows what flows.");
}

static void serve_variables(void *arg, struct exchange *exchange)
{
	struct zpages *self = arg;
	_cleanup_(buf_done) struct buf metrics;
	struct buf body;

	buf_init(&metrics, PAGE_MAX);
	if (!self->options->expvar) {
		http_reply_text(exchange, 404, "expvar is off; set expvar::enabled: true in the zpages extension.");
		return;
	}
	buf_init(&body, PAGE_MAX);
	metrics_render(service_metrics(self->service), &metrics);
	buf_addf(&metrics, "%s", "");
	buf_addf(&body, "{");
	if (buf_err(&metrics) == 0)
		metric_text_json(metrics.data, &body);
	buf_addf(&body, "\n}\n");
	http_reply(exchange, 200, CONTENT_JSON, &body);
}

/* ---- Life ------------------------------------------------------------------------------- */

static int zpages_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct zpages *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->options = options;
	self->service = setup->service;
	*ret_self = self;
	return 0;
}

static void zpages_stop(void *self, u64 deadline_ns)
{
	http_endpoint_close(&((struct zpages *)self)->endpoint, deadline_ns);
}

static int zpages_start(void *arg, struct buf *why)
{
	static const struct { const char *path; void (*handle)(void *arg, struct exchange *exchange); } routes[] = {
		{ "/", serve_index }, { "/debug", serve_index }, { "/debug/servicez", serve_service },
		{ "/debug/pipelinez", serve_pipelines }, { "/debug/extensionz", serve_extensions },
		{ "/debug/featurez", serve_features }, { "/debug/tracez", serve_traces },
		{ "/debug/expvarz", serve_variables },
	};
	struct zpages *self = arg;
	int r;

	self->started_unix_ns = clock_ns(CLOCK_REALTIME);
	r = http_endpoint_open(&self->endpoint, self->service, &self->options->http, self, why);
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]) && r == 0; i++)
		r = http_endpoint_route(&self->endpoint, "GET", routes[i].path, routes[i].handle, why);
	if (r < 0)
		zpages_stop(self, 0);
	return r;
}

const struct component_ops extension_zpages = {
	.type = "zpages",
	.help = "shows pipelines, components and queues as pages",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = zpages_create,
	.start = zpages_start,
	.stop = zpages_stop,
	.free = free,
};
