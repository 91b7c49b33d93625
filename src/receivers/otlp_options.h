/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said about the receiver `otlp`. */
#ifndef RECEIVERS_OTLP_OPTIONS_H
#define RECEIVERS_OTLP_OPTIONS_H

#include <stdbool.h>

#include "net/server.h"
#include "receivers/cors.h"

struct otlp_auth_options {
	const char *authenticator;	/* id of an extension */
};

struct otlp_grpc_options {
	const char *endpoint;
	int transport;			/* 0 tcp, 1 unix */
	bool has_tls, has_auth;
	struct tls_server_options tls;
	struct otlp_auth_options auth;
	struct config_texts allowed_hosts;
	s64 max_recv_msg_size_mib;	/* 0: 4 */
	s64 max_concurrent_streams;
	bool include_metadata;
	struct {
		struct {
			s64 max_connection_idle_ns, max_connection_age_ns, max_connection_age_grace_ns;
			s64 time_ns, timeout_ns;
		} server_parameters;
		struct {
			s64 min_time_ns;
			bool permit_without_stream;
		} enforcement_policy;
	} keepalive;
};

struct otlp_http_options {
	const char *endpoint;
	int transport;
	bool has_tls, has_auth;
	struct tls_server_options tls;
	struct otlp_auth_options auth;
	struct cors_options cors;
	struct config_texts allowed_hosts;
	s64 max_request_body_size;	/* 0: 20 MiB */
	bool include_metadata;
	struct config_pairs response_headers;
	struct config_texts compression_algorithms;
	s64 read_timeout_ns, read_header_timeout_ns, write_timeout_ns, idle_timeout_ns;
	bool keep_alives_enabled;
};

struct otlp_options {
	struct {
		bool has_grpc, has_http;
		struct otlp_grpc_options grpc;
		struct otlp_http_options http;
	} protocols;
};

extern const struct config_field otlp_fields[];
extern const struct otlp_options otlp_defaults;

/* For component_ops.check. */
void otlp_options_check(const void *options, struct config_place place, const char *path,
			struct config_errors *errors);

/* In bytes, of one request without its compression. */
size_t otlp_grpc_message_max(const struct otlp_grpc_options *options);
size_t otlp_http_body_max(const struct otlp_http_options *options);

#endif
