// SPDX-License-Identifier: Apache-2.0
/* The exporter pyroscope: Grafana Pyroscope, by OTLP or in its own way. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "exporters/otlp_endpoint.h"
#include "exporters/otlp_send.h"
#include "exporters/pyroscope_push.h"
#include "exporters/pyroscope_send.h"
#include "pipeline/component.h"

#define URL_BYTES_MAX 8192

enum protocol { OTLP_HTTP, OTLP_GRPC, PUSH };
static const char *const protocols[] = { "otlp_http", "otlp_grpc", "push", NULL };
static const char *const paths[] = {
	[OTLP_HTTP] = "/v1development/profiles",
	[OTLP_GRPC] = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
	[PUSH] = PYROSCOPE_PUSH_PATH,
};

static const char *const services[] = { "unknown", "executable", "container", NULL };

struct options {
	const char *endpoint, *tenant, *proxy_url;
	int protocol, service_name;
	bool per_process;
	struct config_texts sample_attributes;
	s64 max_age_ns, max_ahead_ns;
	struct tls_client_options tls;
	struct config_pairs headers;
	struct otlp_auth auth;
	struct sender_options sender;
};

struct pyroscope {
	struct pyroscope_send send;
	struct pyroscope_shape_options shape;
};

static const struct config_field fields[] = {
	{ "endpoint", CONFIG_TEXT, FIELD(struct options, endpoint),
	  .help = "http://host:port or https://host:port of Pyroscope; for gRPC too" },
	{ "protocol", CONFIG_CHOICE, FIELD(struct options, protocol), .choices = protocols,
	  .help = "otlp_http, otlp_grpc, or push: its own protocol, with pprof" },
	{ "tenant", CONFIG_TEXT, FIELD(struct options, tenant), .help = "the X-Scope-OrgID of each request" },
	{ "service_name", CONFIG_CHOICE, FIELD(struct options, service_name), .choices = services,
	  .help = "what stands for a service.name that is missing: unknown (unknown_service:PROGRAM), executable (its "
		  "name), container (the workload or container it runs in, else the executable)" },
	{ "per_process", CONFIG_BOOL, FIELD(struct options, per_process),
	  .help = "label series with process.pid, command line and the like: a series for each process" },
	{ "sample_attributes", CONFIG_TEXTS, FIELD(struct options, sample_attributes),
	  .help = "attributes of samples to keep, such as thread.name; each distinct set of them is a series" },
	{ "max_age", CONFIG_DURATION, FIELD(struct options, max_age_ns), .max = 1e18,
	  .help = "older profiles are dropped: Pyroscope's reject_older_than; 0: none" },
	{ "max_ahead", CONFIG_DURATION, FIELD(struct options, max_ahead_ns), .max = 1e18,
	  .help = "profiles of a later time are dropped: Pyroscope's reject_newer_than; 0: none" },
	{ "tls", CONFIG_SECTION, FIELD(struct options, tls), .fields = tls_client_fields, .help = "TLS of https://" },
	{ "headers", CONFIG_PAIRS, FIELD(struct options, headers), .secret = true, .help = "headers of each request" },
	{ "auth", CONFIG_SECTION, FIELD(struct options, auth), .fields = otlp_auth_fields,
	  .help = "who gives the Authorization header" },
	{ "proxy_url", CONFIG_TEXT, FIELD(struct options, proxy_url),
	  .help = "a proxy; if not given http_proxy, HTTPS_PROXY and NO_PROXY of the environment say" },
	SENDER_FIELDS(struct options, sender),
	{ 0 },
};

/* A little less than Pyroscope's own limits: what is sent arrives later. */
static const struct options defaults = {
	.endpoint = "http://localhost:4040", .tenant = "", .proxy_url = "", .max_age_ns = 3590000000000,
	.max_ahead_ns = 590000000000, .auth = { "" }, .sender = SENDER_DEFAULTS(30000000000),
};

static void check(const void *arg, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *options = arg;
	const char *problem = otlp_url_problem(options->endpoint);

	if (problem)
		config_error(errors, place, path, "endpoint: %s: %s", options->endpoint, problem);
	if (strlen(options->endpoint) > URL_BYTES_MAX - 128)
		config_error(errors, place, path, "endpoint: it is too long");
	if (strpbrk(options->tenant, "\r\n"))
		config_error(errors, place, path, "tenant: it has more than one line");
	tls_client_check(&options->tls, place, path, errors);
}

static void pyroscope_free(void *arg)
{
	struct pyroscope *self = arg;

	if (self)
		otlp_send_done(&self->send.otlp);
	free(self);
}

static int make_url(const struct options *options, struct buf *url)
{
	size_t len = strlen(options->endpoint);

	while (len && options->endpoint[len - 1] == '/')
		len--;
	buf_addf(url, "%.*s%s", (int)len, options->endpoint, paths[options->protocol]);
	return buf_err(url);
}

static int make_out(struct pyroscope *self, const struct component_setup *setup, const struct options *options,
		    const char *url, struct buf *why)
{
	bool is_push = options->protocol == PUSH;

	return otlp_send_init(&self->send.otlp, setup, &(struct otlp_send_options){
		.sender = &options->sender,
		.client = { .tls = &options->tls, .unix_socket = "", .proxy_url = options->proxy_url },
		.url = url, .grpc = options->protocol == OTLP_GRPC, .has_tls = !strncasecmp(url, "https:", 6),
		.compression = is_push ? OTLP_NONE : OTLP_GZIP, .headers = &options->headers,
		.authenticator = options->auth.authenticator, .authority = "",
		.more_header = { *options->tenant ? "x-scope-orgid" : NULL, options->tenant },
		.content_type = is_push ? PYROSCOPE_PUSH_TYPE : NULL,
		.ops = &pyroscope_send_ops, .encode = is_push ? pyroscope_push_encode_batch : NULL,
		.answer_max = PYROSCOPE_ANSWER_BYTES_MAX,
	}, why);
}

static int create(const struct component_setup *setup, const void *arg, void **ret_self, struct buf *why)
{
	const struct options *options = arg;
	struct pyroscope *self = calloc(1, sizeof(*self));
	_cleanup_(buf_done) struct buf url;
	int r;

	if (!self)
		return -ENOMEM;
	buf_init(&url, URL_BYTES_MAX);
	self->shape = (struct pyroscope_shape_options){
		.service = (enum pyroscope_service)options->service_name, .per_process = options->per_process,
		.sample_attributes = options->sample_attributes, .max_age_ns = options->max_age_ns,
		.max_ahead_ns = options->max_ahead_ns,
	};
	pyroscope_send_init(&self->send, setup, &self->shape);
	self->send.numbers_all = options->protocol == PUSH;
	r = make_url(options, &url);
	if (r == 0)
		r = make_out(self, setup, options, url.data, why);
	if (r < 0) {
		pyroscope_free(self);
		return r;
	}
	*ret_self = self;
	return 0;
}

const struct component_ops exporter_pyroscope = {
	.type = "pyroscope",
	.help = "Grafana Pyroscope, by OTLP or its own push",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = create,
	EXPORTER_SENDS(http_sends, struct options, sender),
	.free = pyroscope_free,
	.looks = LOOKS_AT_PROFILE,
};
