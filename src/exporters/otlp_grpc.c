// SPDX-License-Identifier: Apache-2.0
/* The exporter otlp_grpc, once otlp: OTLP by gRPC. */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "exporters/otlp_endpoint.h"
#include "exporters/otlp_send.h"
#include "pipeline/component.h"

#define EXPORT_PATH "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

struct options {
	const char *endpoint, *authority, *user_agent;
	int compression;
	struct tls_client_options tls;
	struct config_pairs headers;
	struct {
		s64 time_ns, timeout_ns;
		bool permit_without_stream;
	} keepalive;
	struct otlp_auth auth;
	struct sender_options sender;
};

static const struct config_field keepalive_fields[] = {
	{ "time", CONFIG_DURATION, FIELD(struct options, keepalive.time_ns), .max = 1e18,
	  .help = "a connection that nothing comes from for so long is probed, by TCP; 0: after 2 h" },
	{ "timeout", CONFIG_DURATION, FIELD(struct options, keepalive.timeout_ns), .max = 1e18,
	  .help = "and given up if nothing comes for so long after; 0: 20 s" },
	{ "permit_without_stream", CONFIG_BOOL, FIELD(struct options, keepalive.permit_without_stream),
	  .help = "probes of TCP are sent with and without requests under way" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "endpoint", CONFIG_TEXT, FIELD(struct options, endpoint), .required = true,
	  .help = "host:port, or unix:///path; https:// before it turns TLS on, http:// does nothing" },
	{ "compression", CONFIG_CHOICE, FIELD(struct options, compression), .choices = otlp_compressions,
	  .help = "gzip, zstd or none" },
	{ "tls", CONFIG_SECTION, FIELD(struct options, tls), .fields = tls_client_fields,
	  .help = "TLS, which is on unless insecure is true" },
	{ "headers", CONFIG_PAIRS, FIELD(struct options, headers), .secret = true, .help = "metadata of each request" },
	{ "auth", CONFIG_SECTION, FIELD(struct options, auth), .fields = otlp_auth_fields,
	  .help = "who gives the Authorization header" },
	{ "keepalive", CONFIG_SECTION, 0, .fields = keepalive_fields, .help = "how a dead connection is found" },
	{ "authority", CONFIG_TEXT, FIELD(struct options, authority),
	  .help = "the :authority of each request, if it is not the endpoint" },
	{ "user_agent", CONFIG_TEXT, FIELD(struct options, user_agent), .help = "instead of wick/VERSION" },
	SENDER_FIELDS(struct options, sender),
	{ "balancer_name", CONFIG_NEEDLESS, .help = "wick uses one connection, to the first address that answers" },
	{ "wait_for_ready", CONFIG_NEEDLESS,
	  .help = "an attempt that finds nobody ends, and retry_on_failure goes on" },
	{ "read_buffer_size", CONFIG_NEEDLESS, .help = "the buffers are libcurl's" },
	{ "write_buffer_size", CONFIG_NEEDLESS, .help = "the buffers are libcurl's" },
	{ "middlewares", CONFIG_REFUSED, .help = "wick has no such extensions; remove it" },
	{ 0 },
};

static const struct options defaults = {
	.endpoint = "", .authority = "", .user_agent = "", .auth = { "" }, .sender = SENDER_DEFAULTS(5000000000),
};

static void check(const void *arg, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *options = arg;
	struct otlp_target endpoint;
	const char *why;

	if (*options->endpoint && otlp_endpoint_parse(options->endpoint, &options->tls, &endpoint, &why) < 0)
		config_error(errors, place, path, "endpoint: %s: %s", options->endpoint, why);
	otlp_compression_check(options->compression, place, path, errors);
	tls_client_check(&options->tls, place, path, errors);
}

static int create(const struct component_setup *setup, const void *arg, void **ret_self, struct buf *why)
{
	const struct options *options = arg;
	struct otlp_target endpoint;
	const char *problem;
	char url[512];
	int r = otlp_endpoint_parse(options->endpoint, &options->tls, &endpoint, &problem);

	if (r < 0) {
		buf_addf(why, "endpoint: %s", problem);
		return r;
	}
	(void)snprintf(url, sizeof(url), "%s://%s" EXPORT_PATH, endpoint.tls ? "https" : "http", endpoint.authority);
	return otlp_send_new(setup, &(struct otlp_send_options){
		.sender = &options->sender,
		.client = { .tls = &options->tls, .unix_socket = endpoint.unix_socket,
			    .user_agent = options->user_agent, .keepalive_time_ns = options->keepalive.time_ns,
			    .keepalive_timeout_ns = options->keepalive.timeout_ns },
		.url = url, .grpc = true, .has_tls = endpoint.tls, .compression = options->compression,
		.headers = &options->headers, .authenticator = options->auth.authenticator,
		.authority = options->authority,
	}, ret_self, why);
}

const struct component_ops exporter_otlp_grpc = {
	.type = "otlp_grpc",
	.aliases = (const char *const[]){ "otlp", NULL },
	.help = "OTLP by gRPC",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = create,
	.free = otlp_send_free,
	EXPORTER_SENDS(http_sends, struct options, sender),
};
