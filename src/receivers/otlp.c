// SPDX-License-Identifier: Apache-2.0
/* The receiver `otlp`: profiles by OTLP/gRPC and OTLP/HTTP, and metrics for what hosts tell of themselves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "net/server.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "receivers/otlp_endpoint.h"
#include "receivers/otlp_options.h"

#define GRPC_PATH "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define GRPC_PATH_OLD "/opentelemetry.proto.collector.profiles.v1experimental.ProfilesService/Export"
#define GRPC_PATH_METRICS "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
#define HTTP_PATH "/v1development/profiles"
#define HTTP_PATH_METRICS "/v1/metrics"

struct otlp {
	const struct component_setup *setup;
	const struct otlp_options *options;
	struct otlp_endpoint grpc, http;
	struct host_series *series;
};

static void otlp_free(void *self)
{
	struct otlp *o = self;

	if (o)
		host_series_release(o->series);
	free(o);
}
DEFINE_CLEANUP(struct otlp *, otlp_free)

static int find_authenticator(const struct otlp *o, const char *id, struct otlp_endpoint *endpoint, struct buf *why)
{
	const struct component_ops *ops = service_extension(o->setup->service, id, &endpoint->authenticator_self);

	if (!ops) {
		buf_addf(why, "auth::authenticator %s is not an extension that service::extensions names", id);
		return -EINVAL;
	}
	if (!ops->authenticator || !ops->authenticator->accept) {
		buf_addf(why, "auth::authenticator %s cannot tell who may send; use bearertokenauth or basicauth", id);
		return -EINVAL;
	}
	endpoint->authenticator = ops->authenticator;
	return 0;
}

static int otlp_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	_cleanup_(otlp_freep) struct otlp *o = calloc(1, sizeof(*o));
	struct metrics *metrics = service_metrics(setup->service);
	int r = 0;

	if (!o)
		return -ENOMEM;
	o->setup = setup;
	o->options = options;
	o->series = host_series_share();
	if (!o->series)
		return -ENOMEM;
	o->grpc.arrivals = o->http.arrivals = service_arrivals(setup->service);
	o->grpc.id = o->http.id = setup->id;
	if (o->options->protocols.has_grpc) {
		otlp_intake_init(&o->grpc.intake, metrics, setup, "grpc");
		machine_intake_init(&o->grpc.machines, o->series, metrics, setup->id, "grpc");
		o->grpc.message_max = otlp_grpc_message_max(&o->options->protocols.grpc);
		if (o->options->protocols.grpc.has_auth)
			r = find_authenticator(o, o->options->protocols.grpc.auth.authenticator, &o->grpc, why);
	}
	if (r == 0 && o->options->protocols.has_http) {
		otlp_intake_init(&o->http.intake, metrics, setup, "http");
		machine_intake_init(&o->http.machines, o->series, metrics, setup->id, "http");
		o->http.http = &o->options->protocols.http;
		o->http.message_max = otlp_http_body_max(&o->options->protocols.http);
		if (o->options->protocols.http.has_auth)
			r = find_authenticator(o, o->options->protocols.http.auth.authenticator, &o->http, why);
	}
	if (r < 0)
		return r;
	*ret_self = TAKE(o);
	return 0;
}

static int otlp_listen(struct otlp *o, struct otlp_endpoint *endpoint, const struct listen_options *options,
		       const char *protocol, struct buf *why)
{
	int r = server_listen(service_server(o->setup->service), options, &endpoint->listener, why);

	if (r == 0)
		log_info(o->setup->id, "listening for OTLP/%s on %s", protocol, listener_address(endpoint->listener));
	return r;
}

static int add_route(struct otlp_endpoint *endpoint, const char *path, void (*handle)(void *, struct exchange *),
		     struct buf *why)
{
	int r = listener_route(endpoint->listener, &(struct route){
		.path = path,
		.grpc = !endpoint->http,
		.yields = true,
		.body_max = endpoint->message_max,
		.handle = handle,
		.arg = endpoint,
	});

	if (r == -EEXIST)
		buf_addf(why, "another receiver takes profiles at this endpoint already");
	else if (r < 0)
		buf_addf(why, "cannot serve %s: %s", path, strerror(-r));
	return r;
}

static int start_grpc(struct otlp *o, struct buf *why)
{
	const struct otlp_grpc_options *options = &o->options->protocols.grpc;
	const struct listen_options listen = {
		.endpoint = options->endpoint,
		.unix_socket = options->transport == 1,
		.hosts = options->allowed_hosts,
		.tls = options->has_tls ? &options->tls : NULL,
		.idle_timeout_ns = options->keepalive.server_parameters.max_connection_idle_ns,
		.streams_max = (u32)options->max_concurrent_streams,
		.connection_age_max_ns = options->keepalive.server_parameters.max_connection_age_ns,
		.connection_age_grace_ns = options->keepalive.server_parameters.max_connection_age_grace_ns,
		.ping_interval_ns = options->keepalive.server_parameters.time_ns,
		.ping_timeout_ns = options->keepalive.server_parameters.timeout_ns,
		.ping_min_interval_ns = options->keepalive.enforcement_policy.min_time_ns,
		.idle_pings = options->keepalive.enforcement_policy.permit_without_stream,
	};
	int r = otlp_listen(o, &o->grpc, &listen, "gRPC", why);

	if (r == 0)
		r = add_route(&o->grpc, GRPC_PATH, otlp_grpc_handle, why);
	if (r == 0)
		r = add_route(&o->grpc, GRPC_PATH_OLD, otlp_grpc_handle, why);
	if (r == 0)
		r = add_route(&o->grpc, GRPC_PATH_METRICS, otlp_grpc_handle_metrics, why);
	return r;
}

static int start_http(struct otlp *o, struct buf *why)
{
	const struct otlp_http_options *options = &o->options->protocols.http;
	const struct listen_options listen = {
		.endpoint = options->endpoint,
		.unix_socket = options->transport == 1,
		.hosts = options->allowed_hosts,
		.tls = options->has_tls ? &options->tls : NULL,
		.idle_timeout_ns = options->idle_timeout_ns,
		.request_timeout_ns = options->read_timeout_ns,
		.head_timeout_ns = options->read_header_timeout_ns,
		.write_timeout_ns = options->write_timeout_ns,
		.close_after_request = !options->keep_alives_enabled,
	};
	int r = otlp_listen(o, &o->http, &listen, "HTTP", why);

	if (r == 0)
		r = add_route(&o->http, HTTP_PATH, otlp_http_handle, why);
	if (r == 0)
		r = add_route(&o->http, HTTP_PATH_METRICS, otlp_http_handle_metrics, why);
	return r;
}

static void leave(struct otlp_endpoint *endpoint, u64 deadline_ns)
{
	if (endpoint->listener)
		listener_leave(endpoint->listener, endpoint, deadline_ns);
	endpoint->listener = NULL;
}

static void otlp_stop(void *self, u64 deadline_ns)
{
	struct otlp *o = self;

	leave(&o->grpc, deadline_ns);
	leave(&o->http, deadline_ns);
}

static int otlp_start(void *self, struct buf *why)
{
	struct otlp *o = self;
	int r = 0;

	if (o->options->protocols.has_grpc)
		r = start_grpc(o, why);
	if (r == 0 && o->options->protocols.has_http)
		r = start_http(o, why);
	if (r < 0) {
		otlp_stop(o, 0);
		return r;
	}
	component_report(o->setup->status, HEALTH_OK, "");
	return 0;
}

const struct component_ops receiver_otlp = {
	.type = "otlp",
	.help = "profiles by OTLP/gRPC and OTLP/HTTP, and metrics of hosts for the charts of the page",
	.fields = otlp_fields,
	.options_bytes = sizeof(struct otlp_options),
	.defaults = &otlp_defaults,
	.check = otlp_options_check,
	.create = otlp_create,
	.start = otlp_start,
	.stop = otlp_stop,
	.free = otlp_free,
};
