// SPDX-License-Identifier: Apache-2.0
/* The exporter otlp_http, once otlphttp: OTLP by HTTP. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "exporters/otlp_endpoint.h"
#include "exporters/otlp_send.h"
#include "pipeline/component.h"

#define PROFILES_PATH "/v1development/profiles"
#define URL_BYTES_MAX 8192

struct options {
	const char *endpoint, *profiles_endpoint, *proxy_url;
	int encoding, compression;
	s64 compression_level;
	struct tls_client_options tls;
	struct config_pairs headers;
	struct otlp_auth auth;
	s64 max_idle_conns, max_conns_per_host, idle_conn_timeout_ns;
	bool force_attempt_http2;
	struct sender_options sender;
};

static const char *const encodings[] = { "proto", "json", NULL };

static const struct config_field level_fields[] = {
	{ "level", CONFIG_INTEGER, FIELD(struct options, compression_level), .min = -1, .max = 22,
	  .help = "of gzip 1 to 9, of zstd 1 to 22; 0 and -1: the default" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "endpoint", CONFIG_TEXT, FIELD(struct options, endpoint),
	  .help = "http://host:port or https://host:port; " PROFILES_PATH " is appended" },
	{ "profiles_endpoint", CONFIG_TEXT, FIELD(struct options, profiles_endpoint),
	  .help = "the whole URL, instead of endpoint" },
	{ "encoding", CONFIG_CHOICE, FIELD(struct options, encoding), .choices = encodings,
	  .help = "proto (bytes are sent on as they came) or json" },
	{ "compression", CONFIG_CHOICE, FIELD(struct options, compression), .choices = otlp_compressions,
	  .help = "gzip, zstd or none" },
	{ "compression_params", CONFIG_SECTION, 0, .fields = level_fields, .help = "how hard to compress" },
	{ "tls", CONFIG_SECTION, FIELD(struct options, tls), .fields = tls_client_fields, .help = "TLS of https://" },
	{ "headers", CONFIG_PAIRS, FIELD(struct options, headers), .secret = true, .help = "headers of each request" },
	{ "auth", CONFIG_SECTION, FIELD(struct options, auth), .fields = otlp_auth_fields,
	  .help = "who gives the Authorization header" },
	{ "proxy_url", CONFIG_TEXT, FIELD(struct options, proxy_url),
	  .help = "a proxy; if not given http_proxy, HTTPS_PROXY and NO_PROXY of the environment say" },
	{ "max_idle_conns", CONFIG_INTEGER, FIELD(struct options, max_idle_conns), .max = 1000000,
	  .help = "connections that are kept for the next request; 0: 100" },
	{ "max_conns_per_host", CONFIG_INTEGER, FIELD(struct options, max_conns_per_host), .max = 1000000,
	  .help = "connections at once; 0: no limit" },
	{ "idle_conn_timeout", CONFIG_DURATION, FIELD(struct options, idle_conn_timeout_ns), .max = 1e18,
	  .help = "a connection that was idle for longer is not used again" },
	{ "force_attempt_http2", CONFIG_BOOL, FIELD(struct options, force_attempt_http2),
	  .help = "HTTP/2 over TLS where the server has it" },
	SENDER_FIELDS(struct options, sender),
	{ "max_idle_conns_per_host", CONFIG_NEEDLESS, .help = "there is one host: max_idle_conns counts" },
	{ "traces_endpoint", CONFIG_NEEDLESS, .help = "wick sends only profiles" },
	{ "metrics_endpoint", CONFIG_NEEDLESS, .help = "wick sends only profiles" },
	{ "logs_endpoint", CONFIG_NEEDLESS, .help = "wick sends only profiles" },
	{ "read_buffer_size", CONFIG_NEEDLESS, .help = "the buffers are libcurl's" },
	{ "write_buffer_size", CONFIG_NEEDLESS, .help = "the buffers are libcurl's" },
	{ "http2_read_idle_timeout", CONFIG_NEEDLESS, .help = "a dead connection is found by probes of TCP" },
	{ "http2_ping_timeout", CONFIG_NEEDLESS, .help = "a dead connection is found by probes of TCP" },
	{ "keepalive", CONFIG_REFUSED, .help = "give max_idle_conns and idle_conn_timeout beside it instead" },
	{ "disable_keep_alives", CONFIG_REFUSED, .help = "wick keeps connections; use idle_conn_timeout" },
	{ "cookies", CONFIG_REFUSED, .help = "wick keeps no cookies; remove it" },
	{ "middlewares", CONFIG_REFUSED, .help = "wick has no such extensions; remove it" },
	{ 0 },
};

static const struct options defaults = {
	.endpoint = "", .profiles_endpoint = "", .proxy_url = "", .auth = { "" }, .max_idle_conns = 100,
	.idle_conn_timeout_ns = 90000000000, .force_attempt_http2 = true, .sender = SENDER_DEFAULTS(30000000000),
};

static void check(const void *arg, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *options = arg;
	bool whole = *options->profiles_endpoint;
	const char *url = whole ? options->profiles_endpoint : options->endpoint, *problem;

	problem = *url ? otlp_url_problem(url) : NULL;
	if (!*url)
		config_error(errors, place, path, "endpoint is missing; such as http://localhost:4318");
	if (problem)
		config_error(errors, place, path, "%s: %s: %s", whole ? "profiles_endpoint" : "endpoint", url, problem);
	if (*url && strlen(url) > URL_BYTES_MAX - 64)
		config_error(errors, place, path, "%s: it is too long", whole ? "profiles_endpoint" : "endpoint");
	otlp_compression_check(options->compression, place, path, errors);
	tls_client_check(&options->tls, place, path, errors);
}

/* The base without the slash at its end, and the path; or the whole as it was given. */
static void make_url(const struct options *options, struct buf *url)
{
	size_t len = strlen(options->endpoint);

	if (*options->profiles_endpoint) {
		buf_addf(url, "%s", options->profiles_endpoint);
		return;
	}
	while (len && options->endpoint[len - 1] == '/')
		len--;
	buf_addf(url, "%.*s" PROFILES_PATH, (int)len, options->endpoint);
}

static int create(const struct component_setup *setup, const void *arg, void **ret_self, struct buf *why)
{
	const struct options *options = arg;
	_cleanup_(buf_done) struct buf url;

	buf_init(&url, URL_BYTES_MAX);
	make_url(options, &url);
	if (buf_err(&url) < 0)
		return buf_err(&url);
	return otlp_send_new(setup, &(struct otlp_send_options){
		.sender = &options->sender,
		.client = { .tls = &options->tls, .unix_socket = "", .proxy_url = options->proxy_url,
			    .host_connections_max = (u32)options->max_conns_per_host,
			    .idle_connections_max = (u32)options->max_idle_conns,
			    .idle_timeout_ns = options->idle_conn_timeout_ns },
		.url = url.data, .json = options->encoding, .http1_only = !options->force_attempt_http2,
		.compression = options->compression,
		.level = options->compression_level > 0 ? (int)options->compression_level : 0,
		.headers = &options->headers, .authenticator = options->auth.authenticator, .authority = "",
	}, ret_self, why);
}

const struct component_ops exporter_otlp_http = {
	.type = "otlp_http",
	.aliases = (const char *const[]){ "otlphttp", NULL },
	.help = "OTLP by HTTP",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = create,
	.free = otlp_send_free,
	EXPORTER_SENDS(http_sends, struct options, sender),
};
