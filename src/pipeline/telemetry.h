/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section service.telemetry: what wick says about itself, and where.
 *
 * Logs are set up here, when a configuration takes effect. Metrics are served by a component that is no
 * extension of the configuration but always there: service_host.telemetry,
 * whose options are a struct telemetry_options. It looks at what is below `metrics` and `resource`.
 */
#ifndef PIPELINE_TELEMETRY_H
#define PIPELINE_TELEMETRY_H

#include <stdbool.h>

#include "base/types.h"
#include "config/fields.h"

struct buf;

enum telemetry_protocol { TELEMETRY_HTTP, TELEMETRY_GRPC, TELEMETRY_GRPC_PROTOBUF };
enum telemetry_about { TELEMETRY_ABOUT_ALL, TELEMETRY_ABOUT_MACHINE };
enum telemetry_compression { TELEMETRY_PLAIN, TELEMETRY_GZIP };

/* Where metrics are sent by OTLP. */
struct telemetry_periodic {
	bool has_otlp;
	s64 interval_ms, timeout_ms;
	int protocol, compression, temporality;
	int about;			/* enum telemetry_about */
	bool if_taken;			/* whom it is sent to need not take metrics */
	const char *endpoint;
	bool insecure;			/* gRPC without a scheme: no TLS */
	const char *certificate, *client_certificate, *client_key;	/* files; "": none */
	struct config_pairs headers;
};

/* Where metrics can be read, or are sent to. */
struct telemetry_reader {
	struct telemetry_periodic periodic;
	struct {
		bool has_prometheus;
		const char *host;	/* "localhost" */
		s64 port;		/* 8888; 0: any free one */
		/* All true unless it says otherwise. */
		bool without_scope_info, without_type_suffix, without_units;
		struct config_texts resource_labels;	/* with_resource_constant_labels::included */
	} prometheus;
};

enum telemetry_level { TELEMETRY_NONE, TELEMETRY_BASIC, TELEMETRY_NORMAL, TELEMETRY_DETAILED };

struct telemetry_logs {
	int level;			/* enum log_level, or more: nothing */
	int encoding;			/* 0 console, 1 json */
	struct config_texts output_paths;
	struct {
		bool enabled;
		s64 tick_ns, initial, thereafter;
	} sampling;
	struct config_pairs initial_fields;
};

struct telemetry_options {
	struct telemetry_logs logs;
	struct {
		int level;			/* enum telemetry_level; NONE: nothing is served */
		struct config_sections readers;	/* of struct telemetry_reader; one on localhost:8888 unless given */
	} metrics;
	struct config_pairs resource;	/* attributes, for target_info */
	const struct config_node *traces;	/* checked to ask for nothing */
};

extern const struct config_field telemetry_fields[];
extern const struct telemetry_options telemetry_defaults;

/* What the table cannot say; for component_ops.check. */
void telemetry_check(const void *options, struct config_place place, const char *path, struct config_errors *errors);

/*
 * Sets up the process's logger. *fd is what an earlier call opened, or -1; it is closed once it
 * is no longer written to, and replaced. -errno with a sentence in why: the logger stays as it was.
 */
int telemetry_setup_logs(const struct telemetry_logs *logs, int *fd, struct buf *why);

#endif
