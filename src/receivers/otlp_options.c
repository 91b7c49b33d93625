// SPDX-License-Identifier: Apache-2.0
#include "receivers/otlp_options.h"

#include <string.h>

#include "net/address.h"
#include "pipeline/batch.h"

#define MIB (1u << 20)
#define GRPC_DEFAULT_MIB 4
#define HTTP_DEFAULT_BYTES (20 * MIB)
#define DURATION_MAX 0x1p62
#define LIMIT_MIB (BATCH_BYTES_MAX / MIB)

static const char *const transports[] = { "tcp", "unix", NULL };

static const struct config_field auth_fields[] = {
	{ "authenticator", CONFIG_TEXT, FIELD(struct otlp_auth_options, authenticator), .required = true,
	  .extension = true,
	  .help = "id of an extension (bearertokenauth, basicauth) that requests must satisfy" },
	{ "request_params", CONFIG_REFUSED,
	  .help = "no authenticator here looks at parameters of the request; remove it" },
	{ 0 },
};

#define KEEPALIVE(member) FIELD(struct otlp_grpc_options, keepalive.server_parameters.member)
static const struct config_field server_parameters_fields[] = {
	{ "max_connection_idle", CONFIG_DURATION, KEEPALIVE(max_connection_idle_ns), .max = DURATION_MAX,
	  .help = "close connections that have had no requests for so long" },
	{ "max_connection_age", CONFIG_DURATION, KEEPALIVE(max_connection_age_ns), .max = DURATION_MAX,
	  .help = "ask clients to connect anew after so long" },
	{ "max_connection_age_grace", CONFIG_DURATION, KEEPALIVE(max_connection_age_grace_ns), .max = DURATION_MAX,
	  .help = "and close the connection so much later" },
	{ "time", CONFIG_DURATION, KEEPALIVE(time_ns), .max = DURATION_MAX,
	  .help = "ping clients that have been silent for so long; 2h unless given" },
	{ "timeout", CONFIG_DURATION, KEEPALIVE(timeout_ns), .max = DURATION_MAX,
	  .help = "and close the connection if no answer comes within; 20s unless given" },
	{ 0 },
};

#define ENFORCE(member) FIELD(struct otlp_grpc_options, keepalive.enforcement_policy.member)
static const struct config_field enforcement_fields[] = {
	{ "min_time", CONFIG_DURATION, ENFORCE(min_time_ns), .min = 1, .max = DURATION_MAX,
	  .help = "close connections of clients that ping more often; 5m unless given" },
	{ "permit_without_stream", CONFIG_BOOL, ENFORCE(permit_without_stream),
	  .help = "clients may ping without requests" },
	{ 0 },
};

/* The members of the two sections are those of the options themselves: offsets are theirs. */
static const struct config_field keepalive_fields[] = {
	{ "server_parameters", CONFIG_SECTION, 0, .fields = server_parameters_fields,
	  .help = "when connections are pinged and closed" },
	{ "enforcement_policy", CONFIG_SECTION, 0, .fields = enforcement_fields, .help = "what clients may do" },
	{ 0 },
};

#define GRPC(member) FIELD(struct otlp_grpc_options, member)
static const struct config_field grpc_fields[] = {
	{ "endpoint", CONFIG_TEXT, GRPC(endpoint),
	  .help = "host:port to listen on, localhost:4317 unless given; a path if transport is unix" },
	{ "transport", CONFIG_CHOICE, GRPC(transport), .choices = transports,
	  .help = "tcp, or unix for a socket file" },
	{ "tls", CONFIG_SECTION, GRPC(tls), .fields = tls_server_fields,
	  .present = FIELD_PRESENT(struct otlp_grpc_options, has_tls), .help = "certificate, and whom to trust" },
	{ "auth", CONFIG_SECTION, GRPC(auth), .fields = auth_fields,
	  .present = FIELD_PRESENT(struct otlp_grpc_options, has_auth), .help = "who may send" },
	{ "max_recv_msg_size_mib", CONFIG_INTEGER, GRPC(max_recv_msg_size_mib), .max = 1024,
	  .help = "the largest request, without its compression, in MiB; 4 unless given" },
	{ "max_concurrent_streams", CONFIG_INTEGER, GRPC(max_concurrent_streams), .max = 100000,
	  .help = "requests of one connection at once" },
	{ "keepalive", CONFIG_SECTION, 0, .fields = keepalive_fields, .help = "pings, and the age of connections" },
	{ "include_metadata", CONFIG_BOOL, GRPC(include_metadata),
	  .help = "no effect: nothing here looks at the headers of requests" },
	{ "read_buffer_size", CONFIG_NEEDLESS, .help = "buffers have the size that is needed" },
	{ "write_buffer_size", CONFIG_NEEDLESS, .help = "buffers have the size that is needed" },
	{ "middlewares", CONFIG_REFUSED, .help = "there are no middlewares here; remove it" },
	{ "allowed_hosts", CONFIG_TEXTS, GRPC(allowed_hosts),
	  .help = "names of this machine that senders on it may use besides localhost, such as those that a proxy here "
		  "passes on; \"*\": all" },
	{ 0 },
};

static const struct config_field http_keepalive_fields[] = {
	{ "idle_timeout", CONFIG_DURATION, FIELD(struct otlp_http_options, idle_timeout_ns), .max = DURATION_MAX,
	  .help = "close connections that have had no requests for so long" },
	{ "enabled", CONFIG_BOOL, FIELD(struct otlp_http_options, keep_alives_enabled),
	  .help = "keep connections for further requests" },
	{ 0 },
};

#define HTTP(member) FIELD(struct otlp_http_options, member)
static const struct config_field http_fields[] = {
	{ "endpoint", CONFIG_TEXT, HTTP(endpoint),
	  .help = "host:port to listen on, localhost:4318 unless given; a path if transport is unix" },
	{ "transport", CONFIG_CHOICE, HTTP(transport), .choices = transports,
	  .help = "tcp, or unix for a socket file" },
	{ "tls", CONFIG_SECTION, HTTP(tls), .fields = tls_server_fields,
	  .present = FIELD_PRESENT(struct otlp_http_options, has_tls), .help = "certificate, and whom to trust" },
	{ "auth", CONFIG_SECTION, HTTP(auth), .fields = auth_fields,
	  .present = FIELD_PRESENT(struct otlp_http_options, has_auth), .help = "who may send" },
	{ "cors", CONFIG_SECTION, HTTP(cors), .fields = cors_fields, .help = "web pages that may send" },
	{ "max_request_body_size", CONFIG_INTEGER, HTTP(max_request_body_size), .max = 0x1p40,
	  .help = "the largest request, also without its compression, in bytes; 20971520 unless given" },
	{ "include_metadata", CONFIG_BOOL, HTTP(include_metadata),
	  .help = "no effect: nothing here looks at the headers of requests" },
	{ "response_headers", CONFIG_PAIRS, HTTP(response_headers), .help = "headers to put into each answer" },
	{ "compression_algorithms", CONFIG_TEXTS, HTTP(compression_algorithms),
	  .help = "encodings to accept: \"\" for none, gzip, zstd, zlib, deflate, snappy, x-snappy-framed, lz4; all "
		  "unless given" },
	{ "read_timeout", CONFIG_DURATION, HTTP(read_timeout_ns), .max = DURATION_MAX,
	  .help = "how long a request may take to arrive" },
	{ "read_header_timeout", CONFIG_DURATION, HTTP(read_header_timeout_ns), .max = DURATION_MAX,
	  .help = "how long its headers may take" },
	{ "write_timeout", CONFIG_DURATION, HTTP(write_timeout_ns), .max = DURATION_MAX,
	  .help = "how long a client may take to read an answer" },
	{ "idle_timeout", CONFIG_DURATION, HTTP(idle_timeout_ns), .max = DURATION_MAX,
	  .help = "close connections that have had no requests for so long" },
	{ "keep_alives_enabled", CONFIG_BOOL, HTTP(keep_alives_enabled),
	  .help = "keep connections for further requests" },
	{ "keepalive", CONFIG_SECTION, 0, .fields = http_keepalive_fields, .help = "the age of connections" },
	{ "traces_url_path", CONFIG_NEEDLESS, .help = "only profiles are received, at /v1development/profiles" },
	{ "metrics_url_path", CONFIG_NEEDLESS,
	  .help = "metrics are taken at /v1/metrics alone, for what hosts tell of themselves" },
	{ "logs_url_path", CONFIG_NEEDLESS, .help = "only profiles are received, at /v1development/profiles" },
	{ "middlewares", CONFIG_REFUSED, .help = "there are no middlewares here; remove it" },
	{ "allowed_hosts", CONFIG_TEXTS, HTTP(allowed_hosts),
	  .help = "names of this machine that senders on it may use besides localhost, such as those that a proxy here "
		  "passes on; \"*\": all" },
	{ 0 },
};

static const struct config_field protocols_fields[] = {
	{ "grpc", CONFIG_SECTION, FIELD(struct otlp_options, protocols.grpc), .fields = grpc_fields,
	  .present = FIELD_PRESENT(struct otlp_options, protocols.has_grpc), .help = "OTLP/gRPC, if the key is there" },
	{ "http", CONFIG_SECTION, FIELD(struct otlp_options, protocols.http), .fields = http_fields,
	  .present = FIELD_PRESENT(struct otlp_options, protocols.has_http), .help = "OTLP/HTTP, if the key is there" },
	{ 0 },
};

const struct config_field otlp_fields[] = {
	{ "protocols", CONFIG_SECTION, 0, .fields = protocols_fields,
	  .help = "what to listen for: grpc, http, or both" },
	{ 0 },
};

#define NO_TLS { .cert_file = "", .key_file = "", .cert_pem = "", .key_pem = "", .client_ca_file = "", \
		 .min_version = "", .max_version = "" }

const struct otlp_options otlp_defaults = {
	.protocols = {
		.grpc = { .endpoint = "localhost:4317", .tls = NO_TLS, .auth.authenticator = "",
			  .keepalive.enforcement_policy.min_time_ns = 300000000000 },
		.http = { .endpoint = "localhost:4318", .tls = NO_TLS, .auth.authenticator = "",
			  .keep_alives_enabled = true },
	},
};

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

size_t otlp_grpc_message_max(const struct otlp_grpc_options *options)
{
	s64 mib = options->max_recv_msg_size_mib ? options->max_recv_msg_size_mib : GRPC_DEFAULT_MIB;

	return mib < LIMIT_MIB ? (size_t)mib * MIB : BATCH_BYTES_MAX;
}

size_t otlp_http_body_max(const struct otlp_http_options *options)
{
	s64 bytes = options->max_request_body_size ? options->max_request_body_size : HTTP_DEFAULT_BYTES;

	return bytes < BATCH_BYTES_MAX ? (size_t)bytes : BATCH_BYTES_MAX;
}

static void check_algorithms(const struct config_texts *names, struct config_place place, const char *path,
			     struct config_errors *errors)
{
	static const char *const known[] = { "", "gzip", "zstd", "zlib", "deflate", "snappy", "x-snappy-framed", "lz4",
					     NULL };

	for (u32 i = 0; i < names->count; i++)
		if (!is_one_of(known, names->at[i]))
			config_error(errors, place, path, "compression_algorithms has no %.40s; it has gzip, zstd, "
				     "zlib, deflate, snappy, x-snappy-framed, lz4 and \"\"", names->at[i]);
}

static void check_endpoint(const char *endpoint, int transport, const char *protocol, struct config_place place,
			   const char *path, struct config_errors *errors)
{
	if (transport == 0 ? !address_is_valid(endpoint) : !*endpoint)
		config_error(errors, place, path, "protocols::%s::endpoint: \"%s\" is no endpoint; write %s", protocol,
			     endpoint, transport == 0 ? "host:port, such as localhost:4317" : "the path of a socket");
}

void otlp_options_check(const void *options, struct config_place place, const char *path,
			struct config_errors *errors)
{
	const struct otlp_options *o = options;

	if (!o->protocols.has_grpc && !o->protocols.has_http)
		config_error(errors, place, path, "protocols needs at least one of grpc, http");
	if (o->protocols.has_grpc)
		check_endpoint(o->protocols.grpc.endpoint, o->protocols.grpc.transport, "grpc", place, path, errors);
	if (o->protocols.has_http)
		check_endpoint(o->protocols.http.endpoint, o->protocols.http.transport, "http", place, path, errors);
	if (o->protocols.grpc.max_recv_msg_size_mib > LIMIT_MIB)
		config_warning(errors, place, path, "requests over gRPC larger than %u MiB are refused in any case",
			       LIMIT_MIB);
	if (o->protocols.http.max_request_body_size > BATCH_BYTES_MAX)
		config_warning(errors, place, path, "requests over HTTP larger than %u MiB are refused in any case",
			       LIMIT_MIB);
	check_algorithms(&o->protocols.http.compression_algorithms, place, path, errors);
	if (o->protocols.grpc.include_metadata || o->protocols.http.include_metadata)
		config_warning(errors, place, path, "include_metadata has no effect: nothing looks at request headers");
}
