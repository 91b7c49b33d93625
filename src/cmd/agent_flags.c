// SPDX-License-Identifier: Apache-2.0
#include "cmd/agent_flags.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "config/scalar.h"

#define PREFIX "OTEL_PROFILING_AGENT_"
#define METRICS_INTERVAL_MS 10000

#define TEXT(name, letter, member, argument, help) \
	{ name, letter, OPTION_TEXT, offsetof(struct agent_flags, member), argument, NULL, 0, 0, NULL, help }
#define SWITCH(name, letter, member, help) \
	{ name, letter, OPTION_SWITCH, offsetof(struct agent_flags, member), NULL, NULL, 0, 0, NULL, help }

const struct option_entry agent_flag_entries[] = {
	TEXT("collection-agent", 0, collection_agent, "HOST:PORT", "send profiles there, by OTLP over gRPC"),
	SWITCH("disable-tls", 0, disable_tls, "... without TLS"),
	TEXT("samples-per-second", 0, samples_per_second, "N", "samples of each CPU in a second"),
	TEXT("reporter-interval", 0, reporter_interval, "TIME", "time between reports"),
	TEXT("monitor-interval", 0, monitor_interval, "TIME", "time between readings of the agent's own counters"),
	TEXT("clock-sync-interval", 0, clock_sync_interval, "TIME", "time between readings of the wall clock"),
	TEXT("tracers", 't', tracers, "LIST", "interpreters to look into, or all"),
	TEXT("off-cpu-threshold", 0, off_cpu_threshold, "PART", "part of all waits to report, 0 to 1"),
	TEXT("env-vars", 0, env_vars, "LIST", "environment variables to report with each process"),
	TEXT("map-scale-factor", 0, map_scale_factor, "N", "double the kernel's tables so often"),
	TEXT("probabilistic-interval", 0, probabilistic_interval, "TIME", "how long to profile, or not"),
	TEXT("probabilistic-threshold", 0, probabilistic_threshold, "N", "in how many of 100 intervals to profile"),
	TEXT("bpf-log-level", 0, bpf_log_level, "N", "what the kernel's verifier writes"),
	TEXT("pprof", 0, pprof, "HOST:PORT", "serve this process's own profile there"),
	SWITCH("send-error-frames", 0, send_error_frames, "report where stacks could not be followed"),
	SWITCH("no-kernel-version-check", 0, no_kernel_version_check, "run on kernels that are known not to work"),
	SWITCH("verbose", 'v', verbose, "log more"),
	SWITCH("enable-profiling-datadog", 0, datadog, "send profiles to the Datadog agent at DD_AGENT_HOST"),
	TEXT("profiling-datadog-service", 0, datadog_service, "NAME", "... as this service"),
	TEXT("profiling-datadog-env", 0, datadog_env, "NAME", "... as this environment"),
	SWITCH("enable-profiling-otlp", 0, otlp, "send profiles by OTLP"),
	TEXT("profiling-otlp-endpoint", 0, otlp_endpoint, "HOST:PORT", "... there (localhost:4317)"),
	SWITCH("profiling-otlp-insecure", 0, otlp_insecure, "... without TLS"),
	SWITCH("enable-profiling-perfdata", 0, perfdata, "write perf.data files"),
	TEXT("profiling-perfdata-path", 0, perfdata_path, "PATH", "... into this folder"),
	TEXT("profiling-interval", 0, interval, "TIME", "time between reports; a number is seconds"),
	SWITCH("no-machine-metrics", 0, no_machine_metrics, "send profiles alone, no CPU, memory and load"),
};

_Static_assert(sizeof(agent_flag_entries) / sizeof(agent_flag_entries[0]) == AGENT_FLAGS_COUNT, "count of flags");

/* ---- The environment ---------------------------------------------------------------------- */

static const char *variable_of(const char *flag)
{
	char name[sizeof(PREFIX) + 64] = PREFIX;
	size_t len = strlen(PREFIX);

	for (; *flag && len < sizeof(name) - 1; flag++)
		name[len++] = *flag == '-' ? '_' : (char)toupper((unsigned char)*flag);
	name[len] = '\0';
	return getenv(name);
}

void agent_flags_read_environment(struct agent_flags *flags)
{
	/* Up to --verbose: the other agents' flags have no such variables. */
	for (u32 i = 0; agent_flag_entries[i].offset < offsetof(struct agent_flags, datadog); i++) {
		const struct option_entry *e = &agent_flag_entries[i];
		void *value = (char *)flags + e->offset;
		const char *text = variable_of(e->name);

		if (!text)
			continue;
		if (e->type == OPTION_SWITCH)
			*(bool *)value = *(bool *)value || !strcasecmp(text, "true") || !strcmp(text, "1");
		else if (!*(const char **)value)
			*(const char **)value = text;
	}
}

bool agent_flags_given(const struct agent_flags *flags)
{
	static const struct agent_flags none;

	for (u32 i = 0; i < AGENT_FLAGS_COUNT; i++) {
		size_t bytes = agent_flag_entries[i].type == OPTION_SWITCH ? sizeof(bool) : sizeof(char *);
		size_t at = agent_flag_entries[i].offset;

		if (memcmp((const char *)flags + at, (const char *)&none + at, bytes) != 0)
			return true;
	}
	return false;
}

/* ---- Configuration -------------------------------------------------------------------------- */

/* A number or a word stays what it is in YAML, all else is quoted. */
static void put_value(struct buf *yaml, const char *text)
{
	struct config_node node = { 0 };

	scalar_resolve(text, &node);
	if (node.kind == NODE_INT || node.kind == NODE_DOUBLE)
		buf_addf(yaml, "%s\n", text);
	else {
		json_put_string(yaml, text, strlen(text));
		buf_addf(yaml, "\n");
	}
}

static void put(struct buf *yaml, int indent, const char *key, const char *text)
{
	if (!text)
		return;
	buf_addf(yaml, "%*s%s: ", indent, "", key);
	put_value(yaml, text);
}

static void put_switch(struct buf *yaml, int indent, const char *key, bool on)
{
	if (on)
		buf_addf(yaml, "%*s%s: true\n", indent, "", key);
}

/* Older agents had it in a thousandth, newer ones have a part of 1. */
static void put_off_cpu(struct buf *yaml, const char *text)
{
	char *end;
	double value = text ? strtod(text, &end) : 0;

	if (text && end != text && !*end && value > 1)
		buf_addf(yaml, "    off_cpu_threshold: %.15g\n", value / 1000);
	else
		put(yaml, 4, "off_cpu_threshold", text);
}

/* --profiling-interval, whose bare numbers are seconds. */
static void put_interval(struct buf *yaml, const char *key, const struct agent_flags *flags)
{
	size_t digits = flags->interval ? strspn(flags->interval, "0123456789") : 0;

	if (digits && !flags->interval[digits])
		buf_addf(yaml, "    %s: %ss\n", key, flags->interval);
	else
		put(yaml, 4, key, flags->interval);
}

static void put_receiver(struct buf *yaml, const struct agent_flags *flags)
{
	buf_addf(yaml, "receivers:\n  profiling:\n");
	put(yaml, 4, "samples_per_second", flags->samples_per_second);
	if (flags->reporter_interval)
		put(yaml, 4, "reporter_interval", flags->reporter_interval);
	else
		put_interval(yaml, "reporter_interval", flags);
	put(yaml, 4, "monitor_interval", flags->monitor_interval);
	put(yaml, 4, "clock_sync_interval", flags->clock_sync_interval);
	put(yaml, 4, "tracers", flags->tracers);
	put_off_cpu(yaml, flags->off_cpu_threshold);
	put(yaml, 4, "include_env_vars", flags->env_vars);
	put(yaml, 4, "map_scale_factor", flags->map_scale_factor);
	put(yaml, 4, "probabilistic_interval", flags->probabilistic_interval);
	put(yaml, 4, "probabilistic_threshold", flags->probabilistic_threshold);
	put(yaml, 4, "bpf_verifier_log_level", flags->bpf_log_level);
	put_switch(yaml, 4, "send_error_frames", flags->send_error_frames);
	put_switch(yaml, 4, "no_kernel_version_check", flags->no_kernel_version_check);
	put_switch(yaml, 4, "verbose_mode", flags->verbose);
}

static void put_otlp(struct buf *yaml, const char *id, const char *endpoint, bool insecure)
{
	buf_addf(yaml, "  %s:\n", id);
	put(yaml, 4, "endpoint", endpoint);
	if (insecure)
		buf_addf(yaml, "    tls:\n      insecure: true\n");
}

static const char *otlp_endpoint(const struct agent_flags *flags)
{
	return flags->otlp_endpoint ? flags->otlp_endpoint : "localhost:4317";
}

/* Where the Agent is, DD_AGENT_HOST and its like tell the exporter. */
static void put_datadog(struct buf *yaml, const struct agent_flags *flags)
{
	buf_addf(yaml, "  datadog:\n");
	put(yaml, 4, "service", flags->datadog_service);
	put(yaml, 4, "env", flags->datadog_env);
	put_interval(yaml, "interval", flags);
}

static void put_exporters(struct buf *yaml, const struct agent_flags *flags)
{
	buf_addf(yaml, "exporters:\n");
	if (flags->collection_agent)
		put_otlp(yaml, "otlp_grpc/collection_agent", flags->collection_agent, flags->disable_tls);
	if (flags->otlp)
		put_otlp(yaml, "otlp_grpc", otlp_endpoint(flags), flags->otlp_insecure);
	if (flags->datadog)
		put_datadog(yaml, flags);
	if (flags->perfdata) {
		buf_addf(yaml, "  perfdata:\n");
		put(yaml, 4, "path", flags->perfdata_path);
		put_interval(yaml, "interval", flags);
	}
}

static bool names_node(const struct agent_flags *flags)
{
	return (flags->otlp || flags->datadog || flags->perfdata) && getenv("NODE_NAME");
}

bool agent_flags_send(const struct agent_flags *flags)
{
	return flags->collection_agent || flags->otlp || flags->datadog || flags->perfdata;
}

static void put_pipeline(struct buf *yaml, const struct agent_flags *flags, bool is_beside_page)
{
	/* Beside the page's it is a second one: lists of the same name would replace each other. */
	buf_addf(yaml, "  pipelines:\n    profiles%s:\n      receivers: [profiling]\n", is_beside_page ? "/sent" : "");
	if (names_node(flags))
		buf_addf(yaml, "      processors: [resource/node]\n");
	buf_addf(yaml, "      exporters:\n");
	if (flags->collection_agent)
		buf_addf(yaml, "        - otlp_grpc/collection_agent\n");
	if (flags->otlp)
		buf_addf(yaml, "        - otlp_grpc\n");
	if (flags->datadog)
		buf_addf(yaml, "        - datadog\n");
	if (flags->perfdata)
		buf_addf(yaml, "        - perfdata\n");
}

/* Beside the page its own store has them. */
static bool sends_metrics(const struct agent_flags *flags, enum agent_flags_beside beside)
{
	return beside == AGENT_FLAGS_ALONE && !flags->no_machine_metrics && (flags->collection_agent || flags->otlp);
}

/* For the charts of another wick's page. */
static void put_reader(struct buf *yaml, const char *endpoint, bool insecure)
{
	buf_addf(yaml, "        - periodic:\n            interval: %d\n            about: machine\n"
		       "            if_taken: true\n            exporter:\n              otlp:\n"
		       "                protocol: grpc\n                compression: gzip\n", METRICS_INTERVAL_MS);
	put(yaml, 16, "endpoint", endpoint);
	put_switch(yaml, 16, "insecure", insecure);
}

/* A list replaces the one that is there if nothing is said: that one is written out, too. */
static void put_telemetry(struct buf *yaml, const struct agent_flags *flags, enum agent_flags_beside beside)
{
	bool sends = sends_metrics(flags, beside);

	if (flags->verbose || sends)
		buf_addf(yaml, "  telemetry:\n");
	if (flags->verbose)
		buf_addf(yaml, "    logs:\n      level: debug\n");
	if (!sends)
		return;
	buf_addf(yaml, "    metrics:\n      readers:\n        - pull:\n            exporter:\n"
		       "              prometheus:\n                host: localhost\n                port: 8888\n");
	if (flags->collection_agent)
		put_reader(yaml, flags->collection_agent, flags->disable_tls);
	if (flags->otlp)
		put_reader(yaml, otlp_endpoint(flags), flags->otlp_insecure);
}

static void put_service(struct buf *yaml, const struct agent_flags *flags, enum agent_flags_beside beside)
{
	bool is_beside_page = beside == AGENT_FLAGS_BESIDE_PAGE;

	if (!flags->pprof && !flags->verbose && !agent_flags_send(flags))
		return;
	buf_addf(yaml, "service:\n");
	if (flags->pprof)
		buf_addf(yaml, "  extensions: [%spprof]\n", is_beside_page ? "page, " : "");
	put_telemetry(yaml, flags, beside);
	if (agent_flags_send(flags))
		put_pipeline(yaml, flags, is_beside_page);
}

/* Where none of it is said the key is left out: without a value it would take back what the page's own says. */
static void put_receiver_beside(struct buf *yaml, const struct agent_flags *flags)
{
	static const char key[] = "receivers:\n  profiling:\n";
	size_t before = yaml->len;

	put_receiver(yaml, flags);
	if (yaml->len == before + strlen(key))
		yaml->len = before;
}

int agent_flags_write(const struct agent_flags *flags, enum agent_flags_beside beside, struct buf *yaml,
		      char error[OPTIONS_ERROR_MAX])
{
	bool is_beside_page = beside == AGENT_FLAGS_BESIDE_PAGE;

	if (!is_beside_page && !agent_flags_send(flags)) {
		snprintf(error, OPTIONS_ERROR_MAX,
			 "nowhere to send profiles to: give --collection-agent=HOST:PORT or --enable-profiling-otlp");
		return -EINVAL;
	}
	(is_beside_page ? put_receiver_beside : put_receiver)(yaml, flags);
	if (names_node(flags))
		buf_addf(yaml, "processors:\n  resource/node:\n    attributes:\n"
			       "      - key: k8s.node.name\n        value: ${env:NODE_NAME}\n        action: upsert\n");
	if (agent_flags_send(flags))
		put_exporters(yaml, flags);
	if (flags->pprof) {
		buf_addf(yaml, "extensions:\n  pprof:\n");
		put(yaml, 4, "endpoint", flags->pprof);
	}
	put_service(yaml, flags, beside);
	return buf_err(yaml);
}
