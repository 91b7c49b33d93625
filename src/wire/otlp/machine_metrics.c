// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/machine_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"
#include "base/utf8.h"
#include "wire/otlp/metrics_schema.h"
#include "wire/pb.h"

#define NEAR_NS 500000000ull		/* scrapers of one round look one after the other */
#define VALUE_MAX 1e18
#define CPU_SECONDS_MAX 9e9		/* of one state: as nanoseconds they fit */
#define CPUS_MAX 65536
#define PID_MAX INT32_MAX

/* What points may tell. */
enum quantity { NOTHING, CPU_TIME, CPU_COUNT, LOAD, PROCESSES, LIMIT, AVAILABLE, MEMORY, PROCESS_CPU, PROCESS_MEMORY };

static const struct {
	const char *name;
	enum quantity quantity;
} quantities[] = {
	{ "system.cpu.time", CPU_TIME },
	{ "system.cpu.logical.count", CPU_COUNT },
	{ "system.cpu.load_average.1m", LOAD },
	{ "system.processes.count", PROCESSES },
	{ "system.memory.limit", LIMIT },
	{ "system.linux.memory.available", AVAILABLE },
	{ "system.memory.linux.available", AVAILABLE },
	{ "system.memory.usage", MEMORY },
	{ "process.cpu.utilization", PROCESS_CPU },
	{ "process.memory.usage", PROCESS_MEMORY },
};

/* Attributes, of a resource or a point, that matter. */
struct told {
	struct str host, state, program;
	s64 pid;			/* 0: none */
};

struct point {
	u64 time_ns;
	double value;
	bool has_value;
	struct told told;
};

/* A resource and what is below it. */
struct place {
	struct machine_metrics *all;
	struct told resource;
	bool is_host, is_wick;		/* its name can be one; it is wick that tells */
	enum quantity quantity;
	u32 last;			/* the sample that the last point went to */
};

/* ---- Attributes ------------------------------------------------------------------------ */

static struct str text_of(const struct pb *body)
{
	return (struct str){ (const char *)body->at, (u32)pb_left(body) };
}

static s64 number_in(struct str text)
{
	s64 value = 0;

	for (u32 i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9' || value > PID_MAX)
			return 0;
		value = 10 * value + (text.at[i] - '0');
	}
	return value;
}

static void take_attribute(struct pb *r, const struct pb_field *of, struct told *told)
{
	struct pb pair = pb_body(r, of), any = { 0 };
	struct str key = { 0 }, text = { 0 };
	struct pb_field field;
	s64 number = 0;

	while (pb_next(&pair, &field))
		if (field.number == PAIR_KEY && field.wire == PB_LEN)
			key = text_of(&field.body);
		else if (field.number == PAIR_VALUE && field.wire == PB_LEN)
			any = field.body;
	while (pb_next(&any, &field))
		if (field.number == ANY_VALUE_STRING && field.wire == PB_LEN)
			text = text_of(&field.body);
		else if (field.number == ANY_VALUE_INT && field.wire == PB_VARINT)
			number = (s64)field.value;
	pb_inherit(r, &pair);
	pb_inherit(r, &any);
	if (str_is(key, "host.name"))
		told->host = text;
	else if (str_is(key, "state") || str_is(key, "cpu.mode") || str_is(key, "system.memory.state"))
		told->state = text;
	else if (str_is(key, "process.executable.name"))
		told->program = text;
	else if (str_is(key, "process.pid"))
		told->pid = text.len ? number_in(text) : number;
}

/* One that is shown to people. */
static bool is_host_name(struct str name)
{
	if (!name.len || name.len >= MACHINE_NAME_MAX || !utf8_valid(name.at, name.len))
		return false;
	for (u32 i = 0; i < name.len; i++)
		if ((u8)name.at[i] < 0x20 || name.at[i] == 0x7f)
			return false;
	return true;
}

/* ---- Samples --------------------------------------------------------------------------- */

/* CPU times are added up within a metric and a time: a second one of them is of another round. */
static bool is_sample(const struct machine_sample *s, const struct place *place, u64 time_ns)
{
	u64 apart_ns = s->at.monotonic_ns > time_ns ? s->at.monotonic_ns - time_ns : time_ns - s->at.monotonic_ns;
	const struct str host = place->resource.host;

	if (apart_ns > NEAR_NS || strlen(s->host) != host.len || memcmp(s->host, host.at, host.len) != 0)
		return false;
	return place->quantity != CPU_TIME || !s->cpu_metric ||
	       (s->cpu_metric == place->all->metric && !apart_ns);
}

/* NULL: there is no room; *ret is -ENOMEM if that is so for all. */
static struct machine_sample *sample_of(struct place *place, u64 time_ns, int *ret)
{
	struct machine_metrics *all = place->all;
	struct machine_sample *s;

	if (place->last < all->count && is_sample(&all->samples[place->last], place, time_ns))
		return &all->samples[place->last];
	for (u32 i = all->count; i-- > 0;) {
		place->last = i;
		if (is_sample(&all->samples[i], place, time_ns))
			return &all->samples[i];
	}
	if (all->count >= MACHINE_SAMPLES_MAX)
		return NULL;
	*ret = array_reserve(&all->samples, &all->cap, all->count + 1, sizeof(*all->samples));
	if (*ret < 0)
		return NULL;
	place->last = all->count;
	s = &all->samples[all->count++];
	*s = (struct machine_sample){ .at.monotonic_ns = time_ns };
	memcpy(s->host, place->resource.host.at, place->resource.host.len);
	return s;
}

/* ---- Points ---------------------------------------------------------------------------- */

static bool add_cpu_time(struct machine_sample *s, const struct place *place, const struct point *point)
{
	static const struct { const char *name; enum host_cpu_state state; } others[] = {
		{ "iowait", HOST_CPU_IOWAIT }, { "kernel", HOST_CPU_SYSTEM },
	};
	int state = 0;

	while (state < HOST_CPU_STATE_COUNT && !str_is(point->told.state, host_cpu_state_names[state]))
		state++;
	for (u32 i = 0; i < 2 && state == HOST_CPU_STATE_COUNT; i++)
		if (str_is(point->told.state, others[i].name))
			state = others[i].state;
	if (state == HOST_CPU_STATE_COUNT || point->value > CPU_SECONDS_MAX ||
	    (double)s->at.cpu_ns[state] / 1e9 + point->value > CPU_SECONDS_MAX)
		return false;
	s->has_cpu = true;
	s->cpu_metric = place->all->metric;
	s->at.monotonic_ns = point->time_ns;
	s->at.cpu_ns[state] += (u64)(point->value * 1e9);
	s->idle_count += state == HOST_CPU_IDLE && s->idle_count < CPUS_MAX;
	return true;
}

static bool set_memory(struct machine_sample *s, const struct point *point)
{
	for (int i = 0; i < HOST_MEMORY_STATE_COUNT; i++)
		if (str_is(point->told.state, host_memory_state_names[i])) {
			s->at.memory_bytes[i] = (u64)point->value;
			return true;
		}
	return false;
}

/* Of one metric they are summed up: some tell them by state. */
static bool add_processes(struct machine_sample *s, const struct place *place, const struct point *point)
{
	double before = s->count_metric == place->all->metric ? s->at.process_count : 0;

	if (before + point->value > UINT32_MAX)
		return false;
	s->count_metric = place->all->metric;
	s->at.process_count = (u32)(before + point->value);
	return true;
}

static double amount_of(const struct host_process *process, bool by_cpu)
{
	return by_cpu ? process->cpus : (double)process->rss_bytes;
}

static void set_program(struct host_process *process, struct str program)
{
	size_t len = program.len < HOST_NAME_MAX ? program.len : HOST_NAME_MAX - 1;
	const char *end = program.len ? memchr(program.at, '\0', len) : NULL;

	memset(process->name, 0, sizeof(process->name));
	if (len)
		memcpy(process->name, program.at, end ? (size_t)(end - program.at) : len);
}

/* The largest stay first; parts of one process (its time by state) are one. */
static bool add_process(struct machine_sample *s, const struct place *place, const struct point *point)
{
	bool by_cpu = place->quantity == PROCESS_CPU;
	struct host_process *at = by_cpu ? s->at.by_cpu : s->at.by_rss, moved;
	u32 *count = by_cpu ? &s->at.by_cpu_count : &s->at.by_rss_count, i = 0;
	const struct told *told = point->told.pid ? &point->told : &place->resource;

	if (told->pid < 1 || told->pid > PID_MAX || (by_cpu && point->value > CPUS_MAX))
		return false;
	/* Some tell of the time that it waited for disks, too. */
	if (by_cpu && str_is(point->told.state, "wait"))
		return true;
	while (i < *count && at[i].pid != (pid_t)told->pid)
		i++;
	if (i == HOST_TOP && amount_of(&at[--i], by_cpu) >= point->value)
		return true;
	if (i == *count || at[i].pid != (pid_t)told->pid) {
		at[i] = (struct host_process){ .pid = (pid_t)told->pid };
		*count = i + 1 > *count ? i + 1 : *count;
		set_program(&at[i], told->program);
	}
	at[i].cpus = by_cpu && at[i].cpus + point->value < CPUS_MAX ? at[i].cpus + point->value : at[i].cpus;
	at[i].rss_bytes = by_cpu ? 0 : (u64)point->value;
	s->cpus_are_parts |= by_cpu && !place->is_wick;
	for (; i > 0 && amount_of(&at[i - 1], by_cpu) < amount_of(&at[i], by_cpu); i--) {
		moved = at[i - 1];
		at[i - 1] = at[i];
		at[i] = moved;
	}
	return true;
}

static bool take_value(struct machine_sample *s, const struct place *place, const struct point *point)
{
	switch (place->quantity) {
	case CPU_TIME:
		return add_cpu_time(s, place, point);
	case CPU_COUNT:
		s->at.cpu_count = point->value <= CPUS_MAX ? (u32)point->value : 0;
		return s->at.cpu_count > 0;
	case LOAD:
		s->at.load[0] = point->value;
		return true;
	case PROCESSES:
		return add_processes(s, place, point);
	case LIMIT:
		s->at.memory_total_bytes = (u64)point->value;
		return true;
	case AVAILABLE:
		s->at.memory_available_bytes = (u64)point->value;
		return true;
	case MEMORY:
		return set_memory(s, point);
	case PROCESS_CPU:
	case PROCESS_MEMORY:
		return add_process(s, place, point);
	case NOTHING:
		break;
	}
	return false;
}

static void read_point(struct pb *r, const struct pb_field *of, struct point *point)
{
	struct pb body = pb_body(r, of);
	struct pb_field field;
	bool is_missing = false;

	while (pb_next(&body, &field)) {
		if (field.number == POINT_TIME && field.wire == PB_FIXED64)
			point->time_ns = field.value;
		else if (field.number == POINT_DOUBLE && field.wire == PB_FIXED64)
			memcpy(&point->value, &field.value, sizeof(point->value));
		else if (field.number == POINT_INT && field.wire == PB_FIXED64)
			point->value = (double)(s64)field.value;
		else if (field.number == POINT_FLAGS && field.wire == PB_VARINT)
			is_missing = field.value & POINT_HAS_NO_VALUE;
		else if (field.number == POINT_ATTRIBUTES)
			take_attribute(&body, &field, &point->told);
		point->has_value |= field.number == POINT_DOUBLE || field.number == POINT_INT;
	}
	point->has_value = point->has_value && !is_missing;
	pb_inherit(r, &body);
}

/* 0, or -ENOMEM. */
static int take_point(struct place *place, const struct point *point)
{
	struct machine_metrics *all = place->all;
	struct machine_sample *sample;
	int r = 0;

	if (!point->has_value || !isfinite(point->value) || point->value < 0 || point->value > VALUE_MAX ||
	    !point->time_ns) {
		all->wrong++;
		return 0;
	}
	sample = sample_of(place, point->time_ns, &r);
	if (!sample)
		all->left_out += r == 0;
	else if (take_value(sample, place, point))
		all->taken++;
	else
		all->wrong++;
	return r;
}

/* ---- Messages --------------------------------------------------------------------------- */

static void take_points(struct pb *r, const struct pb_field *of, struct place *place)
{
	struct pb data = pb_body(r, of);
	struct pb_field field;

	while (pb_next(&data, &field)) {
		struct point point = { 0 };

		if (field.number != DATA_POINTS)
			continue;
		if (place->quantity == NOTHING) {
			place->all->ignored++;
			continue;
		}
		read_point(&data, &field, &point);
		if (!data.err)
			data.err = take_point(place, &point);
	}
	pb_inherit(r, &data);
}

/* Of a counter's points only sums since its start are understood, and nothing else is a counter. */
static bool fits(enum quantity quantity, const struct pb_field *of)
{
	struct pb data = of->body;
	struct pb_field field;
	u64 temporality = 0, is_monotonic = 0;

	if (of->number != METRIC_GAUGE_DATA && of->number != METRIC_SUM_DATA)
		return false;
	while (pb_next(&data, &field))
		if (field.number == SUM_TEMPORALITY && field.wire == PB_VARINT)
			temporality = field.value;
		else if (field.number == SUM_IS_MONOTONIC && field.wire == PB_VARINT)
			is_monotonic = field.value;
	if (quantity == CPU_TIME)
		return of->number == METRIC_SUM_DATA && temporality == CUMULATIVE && is_monotonic;
	return of->number == METRIC_GAUGE_DATA || temporality == CUMULATIVE;
}

static enum quantity quantity_of(struct str name)
{
	for (size_t i = 0; i < sizeof(quantities) / sizeof(*quantities); i++)
		if (str_is(name, quantities[i].name))
			return quantities[i].quantity;
	return NOTHING;
}

static void take_metric(struct pb *r, const struct pb_field *of, struct place *place)
{
	struct pb metric = pb_body(r, of), again = metric;
	enum quantity quantity = NOTHING;
	struct pb_field field;

	while (pb_next(&again, &field))
		if (field.number == METRIC_NAME && field.wire == PB_LEN && place->is_host)
			quantity = quantity_of(text_of(&field.body));
	place->all->metric++;
	while (pb_next(&metric, &field))
		if (METRIC_IS_DATA(field.number) && field.wire == PB_LEN) {
			place->quantity = fits(quantity, &field) ? quantity : NOTHING;
			take_points(&metric, &field, place);
		}
	pb_inherit(r, &metric);
}

static void take_scope(struct pb *r, const struct pb_field *of, struct place *place)
{
	struct pb scope = pb_body(r, of), again = scope;
	struct pb_field field, name;

	place->is_wick = false;
	while (pb_next(&again, &field))
		if (field.number == SCOPE_METRICS_SCOPE && field.wire == PB_LEN)
			while (pb_next(&field.body, &name))
				if (name.number == SCOPE_NAME && name.wire == PB_LEN)
					place->is_wick = str_is(text_of(&name.body), "wick");
	while (pb_next(&scope, &field))
		if (field.number == SCOPE_METRICS_METRICS)
			take_metric(&scope, &field, place);
	pb_inherit(r, &scope);
}

static void take_resource(struct pb *r, const struct pb_field *of, struct machine_metrics *all)
{
	struct pb whole = pb_body(r, of), again = whole;
	struct place place = { .all = all };
	struct pb_field field, attribute;

	while (pb_next(&again, &field))
		if (field.number == RESOURCE_METRICS_RESOURCE && field.wire == PB_LEN) {
			struct pb resource = field.body;

			while (pb_next(&resource, &attribute))
				if (attribute.number == RESOURCE_ATTRIBUTES)
					take_attribute(&resource, &attribute, &place.resource);
			pb_inherit(&again, &resource);
		}
	pb_inherit(r, &again);
	place.is_host = is_host_name(place.resource.host);
	while (pb_next(&whole, &field))
		if (field.number == RESOURCE_METRICS_SCOPE_METRICS)
			take_scope(&whole, &field, &place);
	pb_inherit(r, &whole);
}

/* What follows from the rest. Without what is available: what is free or can be at once. */
static void complete(struct machine_sample *s)
{
	const u64 *bytes = s->at.memory_bytes;
	u64 at_hand = bytes[HOST_MEMORY_FREE] + bytes[HOST_MEMORY_BUFFERED] + bytes[HOST_MEMORY_CACHED];

	if (!s->at.cpu_count)
		s->at.cpu_count = s->idle_count;
	if (!s->at.memory_total_bytes)
		s->at.memory_total_bytes = at_hand + bytes[HOST_MEMORY_USED];
	if (!s->at.memory_available_bytes)
		s->at.memory_available_bytes = at_hand;
	if (s->at.memory_available_bytes > s->at.memory_total_bytes)
		s->at.memory_available_bytes = s->at.memory_total_bytes;
	for (u32 i = 0; i < s->at.by_cpu_count && s->cpus_are_parts; i++)
		s->at.by_cpu[i].cpus *= s->at.cpu_count;
	for (u32 i = 0; i < s->at.by_cpu_count; i++)
		if (s->at.by_cpu[i].cpus > s->at.cpu_count)
			s->at.by_cpu[i].cpus = s->at.cpu_count;
}

static int by_time(const void *a, const void *b)
{
	const struct machine_sample *x = a, *y = b;

	return x->at.monotonic_ns < y->at.monotonic_ns ? -1 : x->at.monotonic_ns > y->at.monotonic_ns;
}

int machine_metrics_decode(const void *at, size_t bytes, struct machine_metrics *ret_metrics)
{
	struct machine_metrics all = { 0 };
	struct pb request = pb_from(at, bytes);
	struct pb_field field;

	while (pb_next(&request, &field))
		if (field.number == REQUEST_RESOURCE_METRICS)
			take_resource(&request, &field, &all);
	if (request.err) {
		machine_metrics_done(&all);
		return request.err;
	}
	for (u32 i = 0; i < all.count; i++)
		complete(&all.samples[i]);
	if (all.count)
		qsort(all.samples, all.count, sizeof(*all.samples), by_time);
	*ret_metrics = all;
	return 0;
}

void machine_metrics_done(struct machine_metrics *metrics)
{
	free(metrics->samples);
	*metrics = (struct machine_metrics){ 0 };
}
