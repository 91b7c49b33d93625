// SPDX-License-Identifier: Apache-2.0
/*
 * Four tables find what is equal: resources, scopes, sets and samples of the
 * merged profile. A row that is new creates what it stands for, in the table's
 * own() callback, so that the profile is whole after every sample.
 */
#include "profile/merge.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "profile/remap.h"
#include "profile/table.h"

struct resource_row {
	struct str schema_url;
	const struct keyvalue *attributes;
	u32 attribute_count;
};

struct scope_row {
	u32 resource, scope;
	struct str name, version, schema_url;
	const struct keyvalue *attributes;
	u32 attribute_count;
};

struct set_row {
	u32 scope;		/* row */
	u32 set;		/* index in the scope */
	struct profile_type sample_type, period_type;
	s64 period;
	struct indices attributes;
};

/* What a sample has of values and times. Kept apart, so that no value moves to a time that is not its own. */
enum sample_shape {
	SHAPE_EMPTY,
	SHAPE_VALUES,		/* and no time: one sum */
	SHAPE_TIMES,		/* each counts 1 */
	SHAPE_PAIRS,		/* each time has its value */
	SHAPE_SUM_AND_TIMES,	/* one value for many times */
};

struct sample_row {
	u32 set;		/* row */
	u32 sample;		/* index in the set */
	u32 stack, link;
	u32 shape;		/* of the parts, even when times are not kept any more */
	u32 cap;		/* of its times, and of its values if they are pairs */
	struct indices attributes;	/* in order */
};

struct merger {
	struct profile *into;
	struct table resources, scopes, sets, samples;
	struct remap remap;
	u32 times_max, time_count;
	bool times_dropped;
	int err;
	const struct profile_set *set;	/* being added, for its own() */
};

static struct profile_resource *resource_of(const struct merger *m, u32 row)
{
	return &m->into->resources.at[row];
}

static struct profile_scope *scope_of(const struct merger *m, u32 row)
{
	const struct scope_row *s = (const struct scope_row *)m->scopes.rows + row;

	return &resource_of(m, s->resource)->scopes[s->scope];
}

static struct profile_set *set_of(const struct merger *m, u32 row)
{
	const struct set_row *s = (const struct set_row *)m->sets.rows + row;

	return &scope_of(m, s->scope)->sets[s->set];
}

/* ---- Rows ------------------------------------------------------------------ */

static u64 hash_str(u64 hash, struct str s)
{
	return hash_bytes(hash, s.at, s.len);
}

static u64 hash_indices(u64 hash, struct indices list)
{
	return hash_bytes(hash, list.at, list.count * sizeof(*list.at));
}

static bool indices_equal(struct indices a, struct indices b)
{
	return a.count == b.count && (!a.count || !memcmp(a.at, b.at, a.count * sizeof(*a.at)));
}

static u64 resource_hash(const void *row, u64 seed)
{
	const struct resource_row *r = row;

	return keyvalues_hash(r->attributes, r->attribute_count, hash_str(seed, r->schema_url));
}

static bool resource_equal(const void *row_a, const void *row_b)
{
	const struct resource_row *a = row_a, *b = row_b;

	return str_equal(a->schema_url, b->schema_url) &&
	       keyvalues_equal(a->attributes, a->attribute_count, b->attributes, b->attribute_count);
}

static struct str copy_str(struct profile *p, struct str s)
{
	return profile_copy_str(p, s.at, s.len);
}

static int resource_own(void *owner, void *row)
{
	struct merger *m = owner;
	struct resource_row *r = row;
	struct profile_resource *resource = profile_add_resource(m->into, r->attributes, r->attribute_count);

	if (!resource)
		return profile_err(m->into);
	resource->schema_url = copy_str(m->into, r->schema_url);
	r->schema_url = resource->schema_url;
	r->attributes = resource->attributes;
	return profile_err(m->into);
}

static u64 scope_hash(const void *row, u64 seed)
{
	const struct scope_row *s = row;
	u64 hash = hash_str(hash_str(hash_str(hash_mix(seed, s->resource), s->name), s->version), s->schema_url);

	return keyvalues_hash(s->attributes, s->attribute_count, hash);
}

static bool scope_equal(const void *row_a, const void *row_b)
{
	const struct scope_row *a = row_a, *b = row_b;

	return a->resource == b->resource && str_equal(a->name, b->name) && str_equal(a->version, b->version) &&
	       str_equal(a->schema_url, b->schema_url) &&
	       keyvalues_equal(a->attributes, a->attribute_count, b->attributes, b->attribute_count);
}

static int scope_own(void *owner, void *row)
{
	struct merger *m = owner;
	struct scope_row *s = row;
	struct profile_resource *resource = resource_of(m, s->resource);
	struct profile_scope *scope = profile_add_scope(m->into, resource);

	if (!scope)
		return profile_err(m->into);
	scope->name = s->name = copy_str(m->into, s->name);
	scope->version = s->version = copy_str(m->into, s->version);
	scope->schema_url = s->schema_url = copy_str(m->into, s->schema_url);
	scope->attributes = s->attributes = profile_copy_keyvalues(m->into, s->attributes, s->attribute_count);
	scope->attribute_count = profile_err(m->into) ? 0 : s->attribute_count;
	s->scope = resource->scope_count - 1;
	return profile_err(m->into);
}

static u64 set_hash(const void *row, u64 seed)
{
	const struct set_row *s = row;
	u64 hash = hash_mix(hash_mix(seed, s->scope), (u64)s->sample_type.type << 32 | s->sample_type.unit);

	hash = hash_mix(hash, (u64)s->period_type.type << 32 | s->period_type.unit);
	return hash_indices(hash_mix(hash, s->period), s->attributes);
}

static bool type_equal(struct profile_type a, struct profile_type b)
{
	return a.type == b.type && a.unit == b.unit;
}

static bool set_equal(const void *row_a, const void *row_b)
{
	const struct set_row *a = row_a, *b = row_b;

	return a->scope == b->scope && type_equal(a->sample_type, b->sample_type) &&
	       type_equal(a->period_type, b->period_type) && a->period == b->period &&
	       indices_equal(a->attributes, b->attributes);
}

static int set_own(void *owner, void *row)
{
	struct merger *m = owner;
	struct set_row *s = row;
	struct profile_scope *scope = scope_of(m, s->scope);
	struct profile_set *set = profile_add_set(m->into, scope);

	if (!set)
		return profile_err(m->into);
	s->attributes = profile_copy_indices(m->into, s->attributes.at, s->attributes.count);
	s->set = scope->set_count - 1;
	set->sample_type = s->sample_type;
	set->period_type = s->period_type;
	set->period = s->period;
	set->attributes = s->attributes;
	set->time_unix_ns = m->set->time_unix_ns;
	set->duration_ns = m->set->duration_ns;
	set->has_profile_id = m->set->has_profile_id;
	memcpy(set->profile_id, m->set->profile_id, sizeof(set->profile_id));
	set->dropped_attributes_count = m->set->dropped_attributes_count;
	set->original_format = copy_str(m->into, m->set->original_format);
	set->original_payload = copy_str(m->into, m->set->original_payload);
	return profile_err(m->into);
}

static u64 sample_hash(const void *row, u64 seed)
{
	const struct sample_row *s = row;
	u64 hash = hash_mix(hash_mix(seed, (u64)s->set << 32 | s->stack), (u64)s->link << 32 | s->shape);

	return s->attributes.count ? hash_indices(hash, s->attributes) : hash;
}

static bool sample_equal(const void *row_a, const void *row_b)
{
	const struct sample_row *a = row_a, *b = row_b;

	return a->set == b->set && a->stack == b->stack && a->link == b->link && a->shape == b->shape &&
	       indices_equal(a->attributes, b->attributes);
}

/* Without its values and times: they are added as those of later parts are. */
static int sample_own(void *owner, void *row)
{
	struct merger *m = owner;
	struct sample_row *s = row;
	struct profile_set *set = set_of(m, s->set);
	struct profile_sample *sample = profile_add_sample(m->into, set);

	if (!sample)
		return profile_err(m->into);
	s->attributes = profile_copy_indices(m->into, s->attributes.at, s->attributes.count);
	s->sample = set->sample_count - 1;
	sample->stack = s->stack;
	sample->link = s->link;
	sample->attributes = s->attributes;
	return profile_err(m->into);
}

static const struct table_type resource_type = { sizeof(struct resource_row), resource_hash, resource_equal,
						 resource_own };
static const struct table_type scope_type = { sizeof(struct scope_row), scope_hash, scope_equal, scope_own };
static const struct table_type set_type = { sizeof(struct set_row), set_hash, set_equal, set_own };
static const struct table_type sample_type = { sizeof(struct sample_row), sample_hash, sample_equal, sample_own };

/* ---- Joining --------------------------------------------------------------- */

static u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

static u64 end_of(const struct profile_set *set)
{
	u64 end;

	return __builtin_add_overflow(set->time_unix_ns, set->duration_ns, &end) ? UINT64_MAX : end;
}

/* From the earlier start to the later end; a start of 0 is not known. */
static void join_spans(struct profile_set *set, const struct profile_set *from)
{
	u64 end = end_of(set), from_end = end_of(from);

	if (from->time_unix_ns && (!set->time_unix_ns || from->time_unix_ns < set->time_unix_ns))
		set->time_unix_ns = from->time_unix_ns;
	set->duration_ns = (from_end > end ? from_end : end) - set->time_unix_ns;
}

static void join_sets(struct profile_set *set, const struct profile_set *from)
{
	join_spans(set, from);
	set->dropped_attributes_count = larger(set->dropped_attributes_count, from->dropped_attributes_count);
	set->has_profile_id = false;
	memset(set->profile_id, 0, sizeof(set->profile_id));
	set->original_format = set->original_payload = (struct str){ 0 };
}

static int add_to_sum(struct merger *m, struct profile_sample *sample, s64 value)
{
	s64 *sum = (s64 *)sample->values;

	if (!sample->value_count) {
		sum = profile_alloc(m->into, sizeof(*sum));
		if (!sum)
			return profile_err(m->into);
		*sum = 0;
		sample->values = sum;
		sample->value_count = 1;
	}
	*sum = saturating_add(*sum, value);
	return 0;
}

/* Makes room for count more times; arrays double, so that many small additions stay cheap. */
static int reserve_times(struct merger *m, struct sample_row *row, struct profile_sample *sample, u32 count)
{
	u64 want = (u64)sample->time_count + count;
	u64 *times;
	s64 *values = NULL;

	if (want <= row->cap)
		return 0;
	if (want < (u64)row->cap * 2)
		want = (u64)row->cap * 2;
	times = profile_alloc(m->into, want * sizeof(*times));
	if (row->shape == SHAPE_PAIRS)
		values = profile_alloc(m->into, want * sizeof(*values));
	if (profile_err(m->into))
		return profile_err(m->into);
	if (sample->time_count)
		memcpy(times, sample->times_unix_ns, sample->time_count * sizeof(*times));
	if (values && sample->value_count)
		memcpy(values, sample->values, sample->value_count * sizeof(*values));
	if (values)
		sample->values = values;
	sample->times_unix_ns = times;
	row->cap = (u32)want;
	return 0;
}

static int append_times(struct merger *m, struct sample_row *row, struct profile_sample *sample,
			const struct profile_sample *from)
{
	int r = reserve_times(m, row, sample, from->time_count);

	if (r < 0)
		return r;
	memcpy((u64 *)sample->times_unix_ns + sample->time_count, from->times_unix_ns,
	       from->time_count * sizeof(*from->times_unix_ns));
	sample->time_count += from->time_count;
	m->time_count += from->time_count;
	if (row->shape != SHAPE_PAIRS)
		return 0;
	memcpy((s64 *)sample->values + sample->value_count, from->values, from->value_count * sizeof(*from->values));
	sample->value_count += from->value_count;
	return 0;
}

/* The sum takes the room of the first time, so that this works when there is no memory left. */
static void drop_times_of(struct profile_sample *sample)
{
	s64 value = profile_sample_value(sample), *sum = (s64 *)sample->times_unix_ns;

	*sum = value;
	sample->values = sum;
	sample->value_count = 1;
	sample->times_unix_ns = NULL;
	sample->time_count = 0;
}

static void drop_times(struct merger *m)
{
	m->times_dropped = true;
	for (u32 i = 0; i < m->samples.count; i++) {
		const struct sample_row *row = (const struct sample_row *)m->samples.rows + i;
		struct profile_sample *sample = &set_of(m, row->set)->samples[row->sample];

		if (sample->time_count)
			drop_times_of(sample);
	}
}

static int join_samples(struct merger *m, struct sample_row *row, const struct profile_sample *from)
{
	struct profile_sample *sample = &set_of(m, row->set)->samples[row->sample];
	bool keeps_times = from->time_count && !m->times_dropped;
	int r = 0;

	if (row->shape == SHAPE_EMPTY)
		return 0;
	if (!keeps_times || row->shape == SHAPE_SUM_AND_TIMES)
		r = add_to_sum(m, sample, profile_sample_value(from));
	if (r == 0 && keeps_times)
		r = append_times(m, row, sample, from);
	return r;
}

/* ---- Making and freeing ---------------------------------------------------- */

int merger_new(u32 times_max, struct merger **ret_merger)
{
	_cleanup_(merger_freep) struct merger *m = calloc(1, sizeof(*m));
	u64 seed;

	if (!m)
		return -ENOMEM;
	m->into = profile_new();
	if (!m->into)
		return -ENOMEM;
	m->times_max = times_max;
	seed = profile_seed(m->into);
	table_init(&m->resources, &resource_type, m, seed, PROFILE_TABLE_MAX);
	table_init(&m->scopes, &scope_type, m, seed, PROFILE_TABLE_MAX);
	table_init(&m->sets, &set_type, m, seed, PROFILE_TABLE_MAX);
	table_init(&m->samples, &sample_type, m, seed, PROFILE_TABLE_MAX);
	*ret_merger = TAKE(m);
	return 0;
}

void merger_free(struct merger *m)
{
	if (!m)
		return;
	profile_free(m->into);
	table_done(&m->resources);
	table_done(&m->scopes);
	table_done(&m->sets);
	table_done(&m->samples);
	remap_done(&m->remap);
	free(m);
}

/* ---- Adding ---------------------------------------------------------------- */

static enum sample_shape shape_of(const struct profile_sample *s)
{
	if (!s->time_count)
		return s->value_count ? SHAPE_VALUES : SHAPE_EMPTY;
	if (!s->value_count)
		return SHAPE_TIMES;
	return s->value_count == s->time_count ? SHAPE_PAIRS : SHAPE_SUM_AND_TIMES;
}

static int add_sample(struct merger *m, u32 set, const struct profile_sample *s)
{
	struct sample_row row = { .set = set, .stack = m->remap.stacks[s->stack], .link = m->remap.links[s->link],
				  .shape = shape_of(s) };
	s64 number;
	int r = remap_attributes(&m->remap, s->attributes, &row.attributes);

	if (r < 0)
		return r;
	if (!m->times_dropped && s->time_count > m->times_max - m->time_count)
		drop_times(m);
	number = table_add(&m->samples, &row);
	if (number < 0)
		return (int)number;
	return join_samples(m, (struct sample_row *)m->samples.rows + number, s);
}

static int add_set(struct merger *m, u32 scope, const struct profile_set *set)
{
	struct set_row row = {
		.scope = scope,
		.sample_type = remap_type(&m->remap, set->sample_type),
		.period_type = remap_type(&m->remap, set->period_type),
		.period = set->period,
	};
	u32 before = m->sets.count;
	s64 number;
	int r = remap_attributes(&m->remap, set->attributes, &row.attributes);

	if (r < 0)
		return r;
	m->set = set;
	number = table_add(&m->sets, &row);
	if (number < 0)
		return (int)number;
	if (m->sets.count == before)
		join_sets(set_of(m, (u32)number), set);
	for (u32 i = 0; i < set->sample_count && r == 0; i++)
		r = add_sample(m, (u32)number, &set->samples[i]);
	return r;
}

static int add_scope(struct merger *m, u32 resource, const struct profile_scope *scope)
{
	struct scope_row row = { resource, 0, scope->name, scope->version, scope->schema_url, scope->attributes,
				 scope->attribute_count };
	struct profile_scope *joined;
	s64 number = table_add(&m->scopes, &row);
	int r = 0;

	if (number < 0)
		return (int)number;
	joined = scope_of(m, (u32)number);
	joined->dropped_attributes_count = larger(joined->dropped_attributes_count, scope->dropped_attributes_count);
	for (u32 i = 0; i < scope->set_count && r == 0; i++)
		r = add_set(m, (u32)number, &scope->sets[i]);
	return r;
}

static int add_resource(struct merger *m, const struct profile_resource *resource)
{
	struct resource_row row = { resource->schema_url, resource->attributes, resource->attribute_count };
	struct profile_resource *joined;
	s64 number = table_add(&m->resources, &row);
	int r = 0;

	if (number < 0)
		return (int)number;
	joined = resource_of(m, (u32)number);
	joined->dropped_attributes_count = larger(joined->dropped_attributes_count, resource->dropped_attributes_count);
	for (u32 i = 0; i < resource->scope_count && r == 0; i++)
		r = add_scope(m, (u32)number, &resource->scopes[i]);
	return r;
}

int merger_add(struct merger *m, const struct profile *from)
{
	if (!m->err)
		m->err = remap_tables(&m->remap, m->into, from);
	for (u32 i = 0; i < from->resources.count && !m->err; i++)
		m->err = add_resource(m, &from->resources.at[i]);
	return m->err;
}

struct profile *merger_finish(struct merger *m)
{
	return TAKE(m->into);
}

bool merger_times_dropped(const struct merger *m)
{
	return m->times_dropped;
}

size_t merger_bytes(const struct merger *m)
{
	return profile_bytes(m->into) + table_bytes(&m->resources) + table_bytes(&m->scopes) + table_bytes(&m->sets) +
	       table_bytes(&m->samples);
}
