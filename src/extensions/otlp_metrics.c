// SPDX-License-Identifier: Apache-2.0
#include "extensions/otlp_metrics.h"

#include <string.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "wire/otlp/metrics_schema.h"
#include "wire/pb.h"

#define LABEL_BYTES_MAX 1024	/* no more are made by base/metrics.c */

/* What OpenTelemetry calls the machine's metrics, and their labels. */
static const struct convention {
	const char *ours, *name, *unit;
} conventions[] = {
	{ "process_cpu_utilization", "process.cpu.utilization", "1" },
	{ "process_executable_name", "process.executable.name", "" },
	{ "process_memory_usage", "process.memory.usage", "By" },
	{ "process_pid", "process.pid", "" },
	{ "system_context_switches", "system.context_switches", "{switch}" },
	{ "system_cpu_load_average_15m", "system.cpu.load_average.15m", "{thread}" },
	{ "system_cpu_load_average_1m", "system.cpu.load_average.1m", "{thread}" },
	{ "system_cpu_load_average_5m", "system.cpu.load_average.5m", "{thread}" },
	{ "system_cpu_logical_count", "system.cpu.logical.count", "{cpu}" },
	{ "system_cpu_time", "system.cpu.time", "s" },
	{ "system_linux_memory_available", "system.linux.memory.available", "By" },
	{ "system_memory_limit", "system.memory.limit", "By" },
	{ "system_memory_usage", "system.memory.usage", "By" },
	{ "system_processes_count", "system.processes.count", "{process}" },
	{ "system_processes_created", "system.processes.created", "{process}" },
	{ "system_threads_count", "system.threads.count", "{thread}" },
};

static const struct convention *find_convention(const char *name)
{
	for (size_t i = 0; i < sizeof(conventions) / sizeof(*conventions); i++)
		if (!strcmp(conventions[i].ours, name))
			return &conventions[i];
	return NULL;
}

static const char *known_name(const char *name)
{
	const struct convention *known = find_convention(name);

	return known ? known->name : name;
}

static void put_text(struct buf *out, u32 number, const char *text)
{
	pb_put_string_nonempty(out, number, text, strlen(text));
}

static void put_pair(struct buf *out, u32 number, const char *key, const char *value)
{
	size_t pair = pb_begin(out, number), any;

	put_text(out, PAIR_KEY, key);
	any = pb_begin(out, PAIR_VALUE);
	pb_put_string(out, ANY_VALUE_STRING, value, strlen(value));
	pb_end(out, any);
	pb_end(out, pair);
}

/* Copies up to a quote that has no backslash before it, without those. Where it ended. */
static const char *take_quoted(const char *at, char *ret_value)
{
	size_t len = 0;

	for (; *at && *at != '"' && len < LABEL_BYTES_MAX - 1; at++) {
		bool is_escaped = *at == '\\' && at[1];

		at += is_escaped;
		ret_value[len++] = is_escaped && *at == 'n' ? '\n' : *at;
	}
	ret_value[len] = '\0';
	return at + (*at == '"');
}

/* {a="b",c="d"}, which metrics.c has written: of nothing else is more expected than to end. */
static void put_labels(struct buf *out, const char *labels)
{
	char key[LABEL_BYTES_MAX], value[LABEL_BYTES_MAX];

	while (*labels == '{' || *labels == ',') {
		size_t len = strcspn(++labels, "=");

		if (len >= sizeof(key) || labels[len] != '=' || labels[len + 1] != '"')
			return;
		memcpy(key, labels, len);
		key[len] = '\0';
		labels = take_quoted(labels + len + 2, value);
		put_pair(out, POINT_ATTRIBUTES, known_name(key), value);
	}
}

/* ---- Metrics: all numbers of one name follow each other -------------------------------- */

struct request {
	struct buf *out;
	const struct otlp_metrics_times *times;
	bool machine_only;
	const char *name;	/* of the metric that is open; "": none is */
	enum metric_kind kind;
	size_t metric, data;	/* marks of what is open */
};

static void end_metric(struct request *q)
{
	if (!*q->name)
		return;
	if (q->kind == METRIC_COUNTER) {
		pb_put_varint(q->out, SUM_TEMPORALITY, CUMULATIVE);
		pb_put_varint(q->out, SUM_IS_MONOTONIC, 1);
	}
	pb_end(q->out, q->data);
	pb_end(q->out, q->metric);
	q->name = "";
}

static void begin_metric(struct request *q, enum metric_kind kind, const char *name, const char *help)
{
	const struct convention *known = find_convention(name);

	end_metric(q);
	q->name = name;
	q->kind = kind;
	q->metric = pb_begin(q->out, SCOPE_METRICS_METRICS);
	put_text(q->out, METRIC_NAME, known ? known->name : name);
	put_text(q->out, METRIC_DESCRIPTION, help);
	put_text(q->out, METRIC_UNIT, known ? known->unit : "");
	q->data = pb_begin(q->out, kind == METRIC_COUNTER ? METRIC_SUM_DATA : METRIC_GAUGE_DATA);
}

static void put_number(void *arg, enum metric_kind kind, const char *name, const char *help, const char *labels,
		       double value)
{
	struct request *q = arg;
	size_t point;
	u64 bits;

	if (q->machine_only && !find_convention(name))
		return;
	if (strcmp(name, q->name))
		begin_metric(q, kind, name, help);
	memcpy(&bits, &value, sizeof(bits));
	point = pb_begin(q->out, DATA_POINTS);
	if (q->kind == METRIC_COUNTER)
		pb_put_fixed64(q->out, POINT_START,
			       find_convention(name) ? q->times->booted_ns : q->times->started_ns);
	pb_put_fixed64(q->out, POINT_TIME, q->times->now_ns);
	pb_put_fixed64(q->out, POINT_DOUBLE, bits);
	put_labels(q->out, labels);
	pb_end(q->out, point);
}

void otlp_metrics_encode(struct metrics *metrics, const struct otlp_metrics_options *options,
			 const struct otlp_metrics_times *times, struct buf *out)
{
	struct request q = { .out = out, .times = times, .machine_only = options->machine_only, .name = "" };
	const struct config_pairs *resource = options->resource;
	size_t of_resource = pb_begin(out, REQUEST_RESOURCE_METRICS), part = pb_begin(out, RESOURCE_METRICS_RESOURCE);
	size_t of_scope;

	for (u32 i = 0; i < resource->count; i++)
		put_pair(out, RESOURCE_ATTRIBUTES, resource->at[i].key, resource->at[i].value);
	pb_end(out, part);
	of_scope = pb_begin(out, RESOURCE_METRICS_SCOPE_METRICS);
	part = pb_begin(out, SCOPE_METRICS_SCOPE);
	put_text(out, SCOPE_NAME, "wick");
	put_text(out, SCOPE_VERSION, WICK_VERSION);
	pb_end(out, part);
	metrics_each(metrics, put_number, &q);
	end_metric(&q);
	pb_end(out, of_scope);
	pb_end(out, of_resource);
}
