// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/samples.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hex.h"
#include "clickhouse/columns.h"
#include "clickhouse/sent.h"
#include "profile/any.h"

#define SECOND 1000000000ull
#define HOUR_NS (3600 * SECOND)
#define DAY_NS (86400 * SECOND)
#define FUTURE_NS HOUR_NS		/* clocks differ */
#define AGE_MAX_NS (100 * DAY_NS)	/* a block may not be of more days than that */

/* Attributes that have columns of their own. */
static const struct label {
	u32 column;
	const char *attribute;
} resource_labels[] = {
	{ SAMPLES_HOST, "host.name" },
	{ SAMPLES_SERVICE, "service.name" },
	{ SAMPLES_NAMESPACE, "k8s.namespace.name" },
	{ SAMPLES_POD, "k8s.pod.name" },
	{ SAMPLES_CONTAINER, "container.id" },
	{ SAMPLES_PROCESS, "process.executable.name" },
	{ SAMPLES_EXECUTABLE, "process.executable.path" },
	{ SAMPLES_PID, "process.pid" },
}, sample_labels[] = {
	{ SAMPLES_THREAD, "thread.name" },
	{ SAMPLES_TID, "thread.id" },
	{ SAMPLES_CPU, "cpu.logical_number" },
};
#define COUNT(array) ((u32)(sizeof(array) / sizeof(*(array))))

int samples_init(struct samples *samples, const struct profile *profile, u64 now_ns, u64 age_max_ns)
{
	*samples = (struct samples){
		.profile = profile,
		.now_ns = now_ns,
		.age_max_ns = age_max_ns && age_max_ns < AGE_MAX_NS ? age_max_ns : AGE_MAX_NS,
		.days = calloc(profile->stacks.count + 1ul, sizeof(u32)),
	};
	if (samples->days && stacks_init(&samples->stacks, profile) == 0)
		return 0;
	samples_done(samples);
	return -ENOMEM;
}

void samples_done(struct samples *samples)
{
	stacks_done(&samples->stacks);
	free(samples->days);
	samples->days = NULL;
}

/* ---- One row after the other --------------------------------------------------------------- */

struct row {
	struct walk_sample of;
	u64 time_ns;
	s64 value;
};

/* A sample has a row for each of its times, if it has a value for each of them, or none at all; else one. */
static u32 rows_of(const struct profile_sample *sample)
{
	return sample->time_count && (!sample->value_count || sample->value_count == sample->time_count) ?
		       sample->time_count :
		       1;
}

/* Hosts whose clock is off by years would make partitions that nobody looks for. */
static u64 checked_time(struct samples *samples, u64 time_ns)
{
	if (time_ns <= samples->now_ns + FUTURE_NS && time_ns + samples->age_max_ns >= samples->now_ns)
		return time_ns;
	samples->times_wrong++;
	samples->times_hash = XXH64(&time_ns, sizeof(time_ns), samples->times_hash);
	return samples->now_ns - samples->now_ns % HOUR_NS;
}

/* The row that comes next; false at the end. */
static bool find_row(struct samples *samples, struct row *row)
{
	const struct profile_sample *sample;
	u32 number = samples->time;

	if (!walk_sample(&samples->walk, samples->profile, &row->of))
		return false;
	sample = row->of.sample;
	row->value = rows_of(sample) == 1 ? profile_sample_value(sample) :
		     sample->value_count  ? sample->values[number] :
					    1;
	row->time_ns = checked_time(samples, sample->time_count ? sample->times_unix_ns[number] :
								  row->of.set->time_unix_ns);
	return true;
}

static void pass_row(struct samples *samples, const struct row *row)
{
	if (++samples->time < rows_of(row->of.sample))
		return;
	samples->time = 0;
	samples->walk.sample++;
}

static bool is_full(const struct columns *columns)
{
	return columns_rows(columns) >= SAMPLES_ROWS_MAX || columns_bytes(columns) >= SAMPLES_BYTES_MAX ||
	       columns_err(columns) < 0;
}

static int rows_or_error(const struct columns *columns)
{
	return columns_err(columns) < 0 ? columns_err(columns) : (int)columns_rows(columns);
}

int samples_next_stacks(struct samples *samples, struct sent *sent, struct columns *stacks, u64 *keys)
{
	u64 wrong = samples->times_wrong;
	struct row row;

	while (!is_full(stacks) && find_row(samples, &row)) {
		u32 stack = row.of.sample->stack, day = (u32)(row.time_ns / DAY_NS);
		u64 key = sent_key(stacks_hash(&samples->stacks, stack), day);

		pass_row(samples, &row);
		if (samples->days[stack] == day + 1)
			continue;
		samples->days[stack] = day + 1;
		if (sent_has(sent, key))
			continue;
		keys[columns_rows(stacks)] = key;
		stacks_add_row(&samples->stacks, stack, day, stacks);
	}
	samples->times_wrong = wrong;	/* they are counted with their samples */
	samples->times_hash = 0;
	if (!columns_rows(stacks))
		samples->walk = (struct walk){ 0 };	/* samples_next() begins */
	return rows_or_error(stacks);
}

/* ---- Columns of samples --------------------------------------------------------------------- */

static bool has_column(struct str key, const struct label *labels, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		if (str_equal(key, (struct str){ labels[i].attribute, (u32)strlen(labels[i].attribute) }))
			return true;
	}
	return false;
}

static u32 number_of(const struct any *value, u32 none)
{
	return value && value->kind == ANY_INT && value->integer >= 0 && value->integer < INT32_MAX ?
		       (u32)value->integer :
		       none;
}

static void add_resource(const struct samples *samples, const struct profile_resource *resource,
			 struct columns *columns)
{
	for (u32 i = 0; i < COUNT(resource_labels); i++) {
		const struct label *label = &resource_labels[i];
		const struct any *value = keyvalue_find(resource->attributes, resource->attribute_count,
							label->attribute);
		struct str text = any_text(value);

		if (label->column == SAMPLES_HOST && !text.len)
			text = STR(PROFILE_HOST_UNKNOWN);
		if (label->column == SAMPLES_PID)
			columns_number(columns, label->column, number_of(value, 0));
		else
			columns_text(columns, label->column, text);
	}
	for (u32 i = 0; i < resource->attribute_count; i++) {
		const struct keyvalue *pair = &resource->attributes[i];

		if (!has_column(pair->key, resource_labels, COUNT(resource_labels)))
			columns_pair(columns, SAMPLES_RESOURCE_ATTRIBUTES, pair->key, &pair->value);
	}
	columns_end(columns, SAMPLES_RESOURCE_ATTRIBUTES);
}

static void add_attributes(const struct profile *p, struct indices attributes, struct columns *columns)
{
	for (u32 i = 0; i < attributes.count; i++) {
		const struct profile_attribute *attribute = &p->attributes.at[attributes.at[i]];
		struct str key = p->strings.at[attribute->key];

		if (!has_column(key, sample_labels, COUNT(sample_labels)))
			columns_pair(columns, SAMPLES_ATTRIBUTES, key, &attribute->value);
	}
}

static void add_link(const struct profile *p, u32 number, struct columns *columns)
{
	const struct profile_link *link = &p->links.at[number];
	char trace[2 * sizeof(link->trace_id)], span[2 * sizeof(link->span_id)];

	hex_write(link->trace_id, sizeof(link->trace_id), trace);
	hex_write(link->span_id, sizeof(link->span_id), span);
	columns_text(columns, SAMPLES_TRACE, (struct str){ trace, number ? sizeof(trace) : 0 });
	columns_text(columns, SAMPLES_SPAN, (struct str){ span, number ? sizeof(span) : 0 });
}

static void add_sample(struct samples *samples, const struct profile_set *set, const struct profile_sample *sample,
		       struct columns *columns)
{
	const struct profile *p = samples->profile;
	struct indices attributes = sample->attributes;

	columns_number(columns, SAMPLES_STACK_HASH, stacks_hash(&samples->stacks, sample->stack));
	columns_text(columns, SAMPLES_FRAME_TYPE, stacks_leaf_type(&samples->stacks, sample->stack));
	columns_text(columns, SAMPLES_THREAD, any_text(profile_attribute_find(p, attributes, "thread.name")));
	columns_number(columns, SAMPLES_TID, number_of(profile_attribute_find(p, attributes, "thread.id"), 0));
	columns_number(columns, SAMPLES_CPU,
		       number_of(profile_attribute_find(p, attributes, "cpu.logical_number"), UINT32_MAX));
	add_link(p, sample->link, columns);
	add_attributes(p, set->attributes, columns);
	add_attributes(p, attributes, columns);
	columns_end(columns, SAMPLES_ATTRIBUTES);
}

static void add_row(struct samples *samples, const struct row *row, struct columns *columns)
{
	const struct profile *p = samples->profile;
	const struct profile_set *set = row->of.set;

	columns_number(columns, SAMPLES_TIMESTAMP, row->time_ns);
	columns_number(columns, SAMPLES_VALUE, (u64)row->value);
	columns_text(columns, SAMPLES_SAMPLE_TYPE, p->strings.at[set->sample_type.type]);
	columns_text(columns, SAMPLES_SAMPLE_UNIT, p->strings.at[set->sample_type.unit]);
	columns_number(columns, SAMPLES_PERIOD, (u64)profile_set_period_ns(p, set));
	add_resource(samples, row->of.resource, columns);
	add_sample(samples, set, row->of.sample, columns);
	columns_end_row(columns);
}

int samples_next(struct samples *samples, struct columns *columns)
{
	struct row row;

	samples->times_hash = 0;
	while (!is_full(columns) && find_row(samples, &row)) {
		add_row(samples, &row, columns);
		pass_row(samples, &row);
	}
	return rows_or_error(columns);
}
