// SPDX-License-Identifier: Apache-2.0
#include "pipeline/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"

#define FIELDS_MAX 32

static const char *const log_levels[] = { "debug", "info", "warn", "error", "dpanic", "panic", "fatal", NULL };
static const char *const encodings[] = { "console", "json", NULL };
static const char *const metric_levels[] = { "none", "basic", "normal", "detailed", NULL };

/* ---- Logs ------------------------------------------------------------------------ */

static const struct config_field sampling_fields[] = {
	{ "enabled", CONFIG_BOOL, FIELD(struct telemetry_logs, sampling.enabled),
	  .help = "whether repeated lines are left out" },
	{ "tick", CONFIG_DURATION, FIELD(struct telemetry_logs, sampling.tick_ns), .min = 1, .max = INFINITY,
	  .help = "time after which counting starts anew" },
	{ "initial", CONFIG_INTEGER, FIELD(struct telemetry_logs, sampling.initial), .min = 0, .max = 1e9,
	  .help = "lines of one place that pass in each tick" },
	{ "thereafter", CONFIG_INTEGER, FIELD(struct telemetry_logs, sampling.thereafter), .min = 0, .max = 1e9,
	  .help = "then one of so many passes; 0: none" },
	{ 0 },
};

static const struct config_field log_fields[] = {
	{ "level", CONFIG_CHOICE, FIELD(struct telemetry_logs, level), .choices = log_levels,
	  .help = "the least important lines that are shown" },
	{ "encoding", CONFIG_CHOICE, FIELD(struct telemetry_logs, encoding), .choices = encodings,
	  .help = "tab-separated text, or an object a line" },
	{ "output_paths", CONFIG_TEXTS, FIELD(struct telemetry_logs, output_paths),
	  .help = "stderr, stdout or a file; one of them" },
	{ "sampling", CONFIG_SECTION, 0, .fields = sampling_fields, .help = "leaves out lines that come too often" },
	{ "initial_fields", CONFIG_PAIRS, FIELD(struct telemetry_logs, initial_fields), .help = "added to every line" },
	{ "error_output_paths", CONFIG_NEEDLESS, .help = "the logger has no errors of its own to write; remove it" },
	{ "development", CONFIG_NEEDLESS, .help = "there is no development mode; remove it" },
	{ "disable_caller", CONFIG_NEEDLESS, .help = "lines never name the place in the source; remove it" },
	{ "disable_stacktrace", CONFIG_NEEDLESS, .help = "lines never carry a stack; remove it" },
	{ "processors", CONFIG_REFUSED, .help = "wick's own logs go to output_paths only; remove it" },
	{ 0 },
};

/* ---- Metrics ---------------------------------------------------------------------- */

static const char *const default_outputs[] = { "stderr" };
#define PERIODIC_DEFAULTS                                                                                           \
	.periodic = { .interval_ms = 60000, .timeout_ms = 30000, .protocol = TELEMETRY_HTTP, .endpoint = "",        \
		      .certificate = "", .client_certificate = "", .client_key = "" }
static const struct telemetry_reader default_reader = {
	PERIODIC_DEFAULTS,
	.prometheus = { .has_prometheus = true, .host = "localhost", .port = 8888, .without_scope_info = true,
			.without_type_suffix = true, .without_units = true },
};
/* One that is written out is no different, but that it may be without prometheus. */
static const struct telemetry_reader reader_defaults = {
	PERIODIC_DEFAULTS,
	.prometheus = { .host = "localhost", .port = 8888, .without_scope_info = true, .without_type_suffix = true,
			.without_units = true },
};

#define PROMETHEUS(member) FIELD(struct telemetry_reader, prometheus.member)
static const struct config_field resource_label_fields[] = {
	{ "included", CONFIG_TEXTS, PROMETHEUS(resource_labels), .help = "resource attributes that become labels" },
	{ "excluded", CONFIG_REFUSED, .help = "list what is to be included instead" },
	{ 0 },
};

static const struct config_field prometheus_fields[] = {
	{ "host", CONFIG_TEXT, PROMETHEUS(host), .help = "address to listen on" },
	{ "port", CONFIG_INTEGER, PROMETHEUS(port), .min = 0, .max = 65535, .help = "port to listen on" },
	{ "without_scope_info", CONFIG_BOOL, PROMETHEUS(without_scope_info), .help = "leaves the scope's labels out" },
	{ "without_type_suffix", CONFIG_BOOL, PROMETHEUS(without_type_suffix), .help = "leaves _total out of names" },
	{ "without_units", CONFIG_BOOL, PROMETHEUS(without_units), .help = "leaves units out of names" },
	{ "with_resource_constant_labels", CONFIG_SECTION, 0, .fields = resource_label_fields,
	  .help = "resource attributes as labels of every metric" },
	{ 0 },
};

static const struct config_field pull_exporter_fields[] = {
	{ "prometheus", CONFIG_SECTION, 0, .fields = prometheus_fields,
	  .present = FIELD_PRESENT(struct telemetry_reader, prometheus.has_prometheus),
	  .help = "where Prometheus can scrape" },
	{ 0 },
};

static const struct config_field pull_fields[] = {
	{ "exporter", CONFIG_SECTION, 0, .fields = pull_exporter_fields, .help = "prometheus" },
	{ 0 },
};

#define PERIODIC(member) FIELD(struct telemetry_reader, periodic.member)
static const char *const protocols[] = { "http/protobuf", "grpc", "grpc/protobuf", NULL };
static const char *const compressions[] = { "none", "gzip", NULL };
static const char *const temporalities[] = { "cumulative", NULL };
static const char *const abouts[] = { "all", "machine", NULL };

static const struct config_field otlp_fields[] = {
	{ "protocol", CONFIG_CHOICE, PERIODIC(protocol), .choices = protocols, .help = "how it is spoken" },
	{ "endpoint", CONFIG_TEXT, PERIODIC(endpoint), .required = true,
	  .help = "http://host:4318 (/v1/metrics is appended unless it has a path), or http://host:4317 for grpc" },
	{ "headers", CONFIG_PAIRS, PERIODIC(headers), .secret = true, .help = "headers of each request" },
	{ "compression", CONFIG_CHOICE, PERIODIC(compression), .choices = compressions, .help = "gzip or none" },
	{ "timeout", CONFIG_INTEGER, PERIODIC(timeout_ms), .min = 1, .max = 1e9,
	  .help = "milliseconds after which a request is given up" },
	{ "insecure", CONFIG_BOOL, PERIODIC(insecure), .help = "no TLS for grpc where endpoint has no scheme" },
	{ "certificate", CONFIG_TEXT, PERIODIC(certificate), .help = "file of certificates to trust" },
	{ "client_certificate", CONFIG_TEXT, PERIODIC(client_certificate), .help = "file of this side's certificate" },
	{ "client_key", CONFIG_TEXT, PERIODIC(client_key), .help = "file of its key" },
	{ "temporality_preference", CONFIG_CHOICE, PERIODIC(temporality), .choices = temporalities,
	  .help = "sums since the start" },
	{ "default_histogram_aggregation", CONFIG_NEEDLESS, .help = "wick has no histograms; remove it" },
	{ 0 },
};

static const struct config_field push_exporter_fields[] = {
	{ "otlp", CONFIG_SECTION, 0, .fields = otlp_fields, .required = true,
	  .present = FIELD_PRESENT(struct telemetry_reader, periodic.has_otlp), .help = "where OTLP is taken" },
	{ "console", CONFIG_REFUSED, .help = "metrics are not printed; use otlp, or pull::exporter::prometheus" },
	{ 0 },
};

static const struct config_field periodic_fields[] = {
	{ "interval", CONFIG_INTEGER, PERIODIC(interval_ms), .min = 100, .max = 1e9,
	  .help = "milliseconds from one time to the next" },
	{ "timeout", CONFIG_INTEGER, PERIODIC(timeout_ms), .min = 1, .max = 1e9,
	  .help = "milliseconds after which a request is given up" },
	{ "exporter", CONFIG_SECTION, 0, .fields = push_exporter_fields, .required = true, .help = "otlp" },
	{ "about", CONFIG_CHOICE, PERIODIC(about), .choices = abouts,
	  .help = "all, or machine: only what is about the machine and its processes, for another wick's page" },
	{ "if_taken", CONFIG_BOOL, PERIODIC(if_taken),
	  .help = "where metrics are not taken (404, UNIMPLEMENTED), that is no failure, and asked again in an hour" },
	{ 0 },
};

static const struct config_field reader_fields[] = {
	{ "pull", CONFIG_SECTION, 0, .fields = pull_fields, .help = "a reader that is asked" },
	{ "periodic", CONFIG_SECTION, 0, .fields = periodic_fields, .help = "metrics that are sent, by OTLP" },
	{ 0 },
};

#define METRICS(member) FIELD(struct telemetry_options, metrics.member)
static const struct config_field metric_fields[] = {
	{ "level", CONFIG_CHOICE, METRICS(level), .choices = metric_levels,
	  .help = "how much is measured; none: nothing" },
	{ "readers", CONFIG_SECTIONS, METRICS(readers), .fields = reader_fields,
	  .element_bytes = sizeof(struct telemetry_reader), .element_defaults = &reader_defaults,
	  .help = "where metrics can be had; [] for nowhere" },
	{ "address", CONFIG_REFUSED,
	  .help = "write readers: [{pull: {exporter: {prometheus: {host: ..., port: ...}}}}]" },
	{ "views", CONFIG_REFUSED, .help = "wick's metrics cannot be renamed or left out; remove it" },
	{ 0 },
};

/* ---- All of it --------------------------------------------------------------------- */

const struct config_field telemetry_fields[] = {
	{ "logs", CONFIG_SECTION, FIELD(struct telemetry_options, logs), .fields = log_fields,
	  .help = "lines of text" },
	{ "metrics", CONFIG_SECTION, 0, .fields = metric_fields, .help = "numbers for Prometheus, and by OTLP" },
	{ "resource", CONFIG_PAIRS, FIELD(struct telemetry_options, resource), .help = "attributes of target_info" },
	{ "traces", CONFIG_NODE, FIELD(struct telemetry_options, traces), .help = "wick makes no traces of itself" },
	{ 0 },
};

const struct telemetry_options telemetry_defaults = {
	.logs = { .level = LOG_LEVEL_INFO, .output_paths = { 1, default_outputs },
		  .sampling = { true, 10000000000, 10, 100 } },
	.metrics = { .level = TELEMETRY_NORMAL, .readers = { 1, (void *)&default_reader } },
};

void telemetry_check(const void *options, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct telemetry_options *t = options;

	for (u32 i = 0; t->traces && t->traces->kind == NODE_MAP && i < t->traces->count; i++) {
		const struct config_entry *entry = &t->traces->map[i];

		if (strcmp(entry->key, "level"))
			config_error(errors, entry->place, path, "wick makes no traces of itself; remove traces::%s",
				     entry->key);
	}
	if (t->logs.output_paths.count != 1)
		config_error(errors, place, path, "logs::output_paths has %u entries; wick writes to exactly one",
			     t->logs.output_paths.count);
}

static int open_output(const char *path, struct buf *why)
{
	int fd;

	if (!strcmp(path, "stderr") || !strcmp(path, "stdout"))
		return fcntl(*(path + 3) == 'e' ? STDERR_FILENO : STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0)
		return fd;
	fd = -errno;
	buf_addf(why, "cannot write logs to %s: %s", path, strerror(-fd));
	return fd;
}

int telemetry_setup_logs(const struct telemetry_logs *logs, int *fd, struct buf *why)
{
	struct log_field fields[FIELDS_MAX];
	struct log_options options = {
		.level = (enum log_level)logs->level,
		.json = logs->encoding == 1,
		.sampling = logs->sampling.enabled,
		.tick_ns = (u64)logs->sampling.tick_ns,
		.initial = (u32)logs->sampling.initial,
		.thereafter = (u32)logs->sampling.thereafter,
		.fields = fields,
	};

	options.fd = open_output(logs->output_paths.at[0], why);
	if (options.fd < 0)
		return options.fd;
	for (u32 i = 0; i < logs->initial_fields.count && i < FIELDS_MAX; i++)
		fields[options.field_count++] =
			(struct log_field){ logs->initial_fields.at[i].key, logs->initial_fields.at[i].value };
	log_setup(&options);
	if (*fd >= 0)
		close(*fd);
	*fd = options.fd;
	return 0;
}
