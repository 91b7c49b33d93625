// SPDX-License-Identifier: Apache-2.0
/*
 * Answers 200 while everything runs, 503 while something is starting or stopping, or will not work again by itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "extensions/gotime.h"
#include "extensions/http_endpoint.h"
#include "pipeline/component.h"
#include "pipeline/service.h"

#define BODY_MAX 65536

struct options {
	struct http_endpoint_options http;
	const char *path;
	bool has_body;
	struct {
		const char *healthy, *unhealthy;
	} body;
};

struct health_check {
	const struct options *options;
	struct service *service;
	struct http_endpoint endpoint;
	u64 started_unix_ns, started_ns;
};

static const struct options defaults = {
	.http = HTTP_ENDPOINT_DEFAULTS("localhost:13133"), .path = "/", .body = { "", "" },
};

static const struct config_field body_fields[] = {
	{ "healthy", CONFIG_TEXT, FIELD(struct options, body.healthy), .help = "what is answered with 200" },
	{ "unhealthy", CONFIG_TEXT, FIELD(struct options, body.unhealthy), .help = "what is answered with 503" },
	{ 0 },
};

static const struct config_field fields[] = {
	HTTP_ENDPOINT_FIELDS(struct options, http),
	{ "path", CONFIG_TEXT, FIELD(struct options, path), .help = "where it answers" },
	{ "response_body", CONFIG_SECTION, 0, .fields = body_fields,
	  .present = FIELD_PRESENT(struct options, has_body), .help = "texts instead of JSON" },
	{ "check_collector_pipeline", CONFIG_NEEDLESS,
	  .help = "it does nothing, as in the Collector; health follows what each component reports" },
	{ "use_v2", CONFIG_REFUSED, .help = "only the first form of this extension is there; remove it" },
	{ "http", CONFIG_REFUSED, .help = "write endpoint and path beside it instead" },
	{ "grpc", CONFIG_REFUSED, .help = "health is told by HTTP only; remove it" },
	{ "component_health", CONFIG_REFUSED,
	  .help = "permanent errors count as unhealthy and others do not; remove it" },
	{ 0 },
};

static void check(const void *options, struct config_place place, const char *path, struct config_errors *errors)
{
	if (*((const struct options *)options)->path != '/')
		config_error(errors, place, path, "path must start with /");
}

/* A component that tries again is no reason to start all of it anew. */
static bool is_healthy(struct service *service)
{
	struct component_view view;

	for (u32 i = 0; service_component(service, i, &view) == 0; i++)
		if (view.health != HEALTH_OK && view.health != HEALTH_RECOVERABLE)
			return false;
	return true;
}

static void add_json(const struct health_check *check_, bool healthy, struct buf *body)
{
	char since[GOTIME_MAX] = "0001-01-01T00:00:00Z", uptime[GOTIME_MAX] = "";

	if (healthy) {
		gotime_stamp(since, check_->started_unix_ns);
		gotime_duration(uptime, monotonic_ns() - check_->started_ns);
	}
	buf_addf(body, "{\"status\":\"%s\",\"upSince\":\"%s\",\"uptime\":\"%s\"}",
		 healthy ? "Server available" : "Server not available", since, uptime);
}

static void serve_health(void *arg, struct exchange *exchange)
{
	struct health_check *self = arg;
	const struct options *options = self->options;
	bool healthy = is_healthy(self->service);
	struct buf body;

	buf_init(&body, BODY_MAX);
	if (options->has_body)
		buf_addf(&body, "%s", healthy ? options->body.healthy : options->body.unhealthy);
	else
		add_json(self, healthy, &body);
	http_reply(exchange, healthy ? 200 : 503, options->has_body ? CONTENT_TEXT : CONTENT_JSON, &body);
}

static int health_check_create(const struct component_setup *setup, const void *options, void **ret_self,
			       struct buf *why)
{
	struct health_check *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->options = options;
	self->service = setup->service;
	*ret_self = self;
	return 0;
}

static void health_check_stop(void *self, u64 deadline_ns)
{
	http_endpoint_close(&((struct health_check *)self)->endpoint, deadline_ns);
}

static int health_check_start(void *arg, struct buf *why)
{
	struct health_check *self = arg;
	int r;

	self->started_unix_ns = clock_ns(CLOCK_REALTIME);
	self->started_ns = monotonic_ns();
	r = http_endpoint_open(&self->endpoint, self->service, &self->options->http, self, why);
	if (r == 0)
		r = http_endpoint_route(&self->endpoint, NULL, self->options->path, serve_health, why);
	if (r < 0)
		health_check_stop(self, 0);
	return r;
}

const struct component_ops extension_health_check = {
	.type = "health_check",
	.help = "tells load balancers and probes whether all components work",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = health_check_create,
	.start = health_check_start,
	.stop = health_check_stop,
	.free = free,
};
