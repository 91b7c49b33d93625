// SPDX-License-Identifier: Apache-2.0
#include "profile/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/interner.h"
#include "base/saturate.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "profile/remap.h"
#include "profile/table.h"

#define MERGE_BYTES_MAX ((size_t)2 << 30)
#define MERGE_SAMPLES_MAX (64u << 20)
#define MERGE_ATTRIBUTES_MAX 64

/* Where a set of the merged profile is; arrays move, indices stay. */
struct set_place {
	u32 resource, scope, set;
};

/* What makes samples the same; followed by the attributes. */
struct sample_key {
	u32 set, stack, link, attribute_count;
	u32 attributes[MERGE_ATTRIBUTES_MAX];
};

struct sample_sum {
	s64 value;		/* of all, with or without a time */
	u32 point_count;	/* those with a time */
	bool has_timeless;	/* some have none */
};

/* One event. */
struct point {
	u32 sample;
	bool has_value;		/* else it counts 1 */
	u64 time_unix_ns;
	s64 value;
};

struct merger {
	struct profile *profile;
	struct arena arena;
	struct interner resources;	/* hash of attributes -> number of resource */
	struct interner sets;		/* struct set_key -> number of place */
	struct interner samples;	/* struct sample_key */
	struct set_place *places;
	struct sample_sum *sums;
	struct point *points;
	u32 place_cap, sum_cap, point_cap, point_count;
	bool times_dropped;
};

void merger_free(struct merger *merger)
{
	if (!merger)
		return;
	profile_free(merger->profile);
	interner_done(&merger->resources);
	interner_done(&merger->sets);
	interner_done(&merger->samples);
	arena_done(&merger->arena);
	free(merger->places);
	free(merger->sums);
	free(merger->points);
	free(merger);
}

int merger_new(struct merger **ret_merger)
{
	_cleanup_(merger_freep) struct merger *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	arena_init(&m->arena, MERGE_BYTES_MAX);
	interner_init(&m->resources, &m->arena, MERGE_SAMPLES_MAX);
	interner_init(&m->sets, &m->arena, MERGE_SAMPLES_MAX);
	interner_init(&m->samples, &m->arena, MERGE_SAMPLES_MAX);
	m->profile = profile_new();
	if (!m->profile)
		return -ENOMEM;
	*ret_merger = TAKE(m);
	return 0;
}

static int merger_err(const struct merger *m)
{
	return profile_err(m->profile) < 0 ? profile_err(m->profile) : -ENOMEM;
}

/* ---- Resources, scopes, sets ---- */

static bool same_resource(const struct profile_resource *a, const struct profile_resource *b)
{
	return str_equal(a->schema_url, b->schema_url) &&
	       keyvalues_equal(a->attributes, a->attribute_count, b->attributes, b->attribute_count);
}

/* Found by hash; two that differ but hash the same step on to the next number. */
static u32 find_resource(struct merger *m, const struct profile_resource *from)
{
	struct profile_resource *made;

	for (u64 hash = keyvalues_hash(from->attributes, from->attribute_count, 0);; hash++) {
		bool is_new;
		u32 number = interner_add(&m->resources, &hash, sizeof(hash), &is_new);

		if (number == INTERNER_NONE)
			return INTERNER_NONE;
		if (!is_new && !same_resource(&m->profile->resources.at[number], from))
			continue;
		if (!is_new)
			return number;
		made = profile_add_resource(m->profile, from->attributes, from->attribute_count);
		if (!made)
			return INTERNER_NONE;
		made->schema_url = profile_copy_str(m->profile, from->schema_url.at, from->schema_url.len);
		made->dropped_attributes_count = from->dropped_attributes_count;
		return number;
	}
}

/* Scopes of a resource are few. */
static u32 find_scope(struct merger *m, u32 resource_number, const struct profile_scope *from)
{
	struct profile_resource *resource = &m->profile->resources.at[resource_number];
	struct profile_scope *made;

	for (u32 i = 0; i < resource->scope_count; i++) {
		const struct profile_scope *s = &resource->scopes[i];

		if (str_equal(s->name, from->name) && str_equal(s->version, from->version) &&
		    str_equal(s->schema_url, from->schema_url) &&
		    keyvalues_equal(s->attributes, s->attribute_count, from->attributes, from->attribute_count))
			return i;
	}
	made = profile_add_scope(m->profile, resource);
	if (!made)
		return INTERNER_NONE;
	made->name = profile_copy_str(m->profile, from->name.at, from->name.len);
	made->version = profile_copy_str(m->profile, from->version.at, from->version.len);
	made->schema_url = profile_copy_str(m->profile, from->schema_url.at, from->schema_url.len);
	made->attributes = profile_copy_keyvalues(m->profile, from->attributes, from->attribute_count);
	made->attribute_count = made->attributes ? from->attribute_count : 0;
	made->dropped_attributes_count = from->dropped_attributes_count;
	return resource->scope_count - 1;
}

static struct profile_type map_type(const struct remap *map, struct profile_type type)
{
	return (struct profile_type){ map->strings[type.type], map->strings[type.unit] };
}

static struct profile_set *place_set(const struct merger *m, u32 number)
{
	const struct set_place *at = &m->places[number];

	return &m->profile->resources.at[at->resource].scopes[at->scope].sets[at->set];
}

static int add_set(struct merger *m, const struct remap *map, u32 resource, u32 scope_number,
		   const struct profile_set *from, u32 number)
{
	struct profile_scope *scope = &m->profile->resources.at[resource].scopes[scope_number];
	struct profile_set *made = profile_add_set(m->profile, scope);
	int r = array_grow((void **)&m->places, &m->place_cap, number, MERGE_SAMPLES_MAX, sizeof(*m->places));

	if (r < 0 || !made)
		return r < 0 ? r : merger_err(m);
	made->sample_type = map_type(map, from->sample_type);
	made->period_type = map_type(map, from->period_type);
	made->period = from->period;
	made->time_unix_ns = from->time_unix_ns;
	made->duration_ns = from->duration_ns;
	m->places[number] = (struct set_place){ resource, scope_number, scope->set_count - 1 };
	return 0;
}

/* From the earlier start to the later end. */
static void widen_set(struct profile_set *set, const struct profile_set *from)
{
	u64 end = set->time_unix_ns + set->duration_ns, from_end = from->time_unix_ns + from->duration_ns;

	if (from->time_unix_ns < set->time_unix_ns)
		set->time_unix_ns = from->time_unix_ns;
	set->duration_ns = (from_end > end ? from_end : end) - set->time_unix_ns;
}

static int find_set(struct merger *m, const struct remap *map, u32 resource, u32 scope,
		    const struct profile_set *from, u32 *ret_number)
{
	struct {
		u32 resource, scope;
		struct profile_type sample_type, period_type;
		s64 period;
	} key = { resource, scope, map_type(map, from->sample_type), map_type(map, from->period_type), from->period };
	bool is_new;
	u32 number = interner_add(&m->sets, &key, sizeof(key), &is_new);

	if (number == INTERNER_NONE)
		return -ENOMEM;
	*ret_number = number;
	if (is_new)
		return add_set(m, map, resource, scope, from, number);
	widen_set(place_set(m, number), from);
	return 0;
}

/* ---- Samples ---- */

static int find_sample(struct merger *m, const struct remap *map, u32 set, const struct profile_sample *from,
		       u32 *ret_number)
{
	struct sample_key key = {
		.set = set,
		.stack = map->stacks[from->stack],
		.link = map->links[from->link],
		.attribute_count = from->attributes.count < MERGE_ATTRIBUTES_MAX ? from->attributes.count :
										   MERGE_ATTRIBUTES_MAX,
	};
	bool is_new;
	u32 number;

	for (u32 i = 0; i < key.attribute_count; i++)
		key.attributes[i] = map->attributes[from->attributes.at[i]];
	number = interner_add(&m->samples, &key, offsetof(struct sample_key, attributes[key.attribute_count]), &is_new);
	if (number == INTERNER_NONE)
		return -ENOMEM;
	*ret_number = number;
	if (!is_new)
		return 0;
	if (array_grow((void **)&m->sums, &m->sum_cap, number, MERGE_SAMPLES_MAX, sizeof(*m->sums)) < 0)
		return -ENOMEM;
	m->sums[number] = (struct sample_sum){ 0 };
	return 0;
}

static void add_point(struct merger *m, u32 sample, const struct profile_sample *from, u32 index)
{
	struct point *point;

	if (m->times_dropped)
		return;
	if (array_grow((void **)&m->points, &m->point_cap, m->point_count, MERGE_POINTS_MAX, sizeof(*m->points)) < 0) {
		m->times_dropped = true;
		return;
	}
	point = &m->points[m->point_count++];
	*point = (struct point){ .sample = sample, .time_unix_ns = from->times_unix_ns[index], .value = 1 };
	if (from->value_count == from->time_count) {
		point->has_value = true;
		point->value = from->values[index];
	}
	m->sums[sample].point_count++;
}

static int merge_sample(struct merger *m, const struct remap *map, u32 set, const struct profile_sample *from)
{
	struct sample_sum *sum;
	u32 number;
	int r = find_sample(m, map, set, from, &number);

	if (r < 0)
		return r;
	sum = &m->sums[number];
	sum->value = saturating_add(sum->value, profile_sample_value(from));
	/* One value for many times cannot be told apart any more. */
	if (!from->time_count || (from->value_count == 1 && from->time_count > 1))
		sum->has_timeless = true;
	else
		for (u32 i = 0; i < from->time_count; i++)
			add_point(m, number, from, i);
	m->times_dropped |= sum->has_timeless && sum->point_count;
	return 0;
}

static int merge_set(struct merger *m, const struct remap *map, u32 resource, u32 scope, const struct profile_set *from)
{
	u32 number;
	int r = find_set(m, map, resource, scope, from, &number);

	for (u32 i = 0; r == 0 && i < from->sample_count; i++)
		r = merge_sample(m, map, number, &from->samples[i]);
	return r;
}

static int merge_resource(struct merger *m, const struct remap *map, const struct profile_resource *from)
{
	u32 resource = find_resource(m, from);
	int r = 0;

	if (resource == INTERNER_NONE)
		return merger_err(m);
	for (u32 i = 0; i < from->scope_count; i++) {
		u32 scope = find_scope(m, resource, &from->scopes[i]);

		if (scope == INTERNER_NONE)
			return merger_err(m);
		for (u32 j = 0; r == 0 && j < from->scopes[i].set_count; j++)
			r = merge_set(m, map, resource, scope, &from->scopes[i].sets[j]);
		if (r < 0)
			return r;
	}
	return 0;
}

int merger_add(struct merger *merger, const struct profile *profile)
{
	_cleanup_(remap_done) struct remap map;
	int r = remap_init(&map, merger->profile, profile);

	for (u32 i = 0; r == 0 && i < profile->resources.count; i++)
		r = merge_resource(merger, &map, &profile->resources.at[i]);
	return r < 0 ? r : profile_err(merger->profile);
}

/* ---- The end ---- */

/* The points in the order of their samples; start[i] moves to the end of those of sample i. */
static struct point *points_by_sample(const struct merger *m, u64 *start)
{
	struct point *sorted = calloc(m->point_count ? m->point_count : 1, sizeof(*sorted));
	u64 at = 0;

	if (!sorted)
		return NULL;
	for (u32 i = 0; i < m->samples.count; i++) {
		start[i] = at;
		at += m->sums[i].point_count;
	}
	for (u32 i = 0; i < m->point_count; i++)
		sorted[start[m->points[i].sample]++] = m->points[i];
	return sorted;
}

static int write_points(struct profile *p, struct profile_sample *sample, const struct point *points, u32 count)
{
	_cleanup_(freep) u64 *times = calloc(count, sizeof(*times));
	_cleanup_(freep) s64 *values = calloc(count, sizeof(*values));
	bool has_values = false;

	if (!times || !values)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		times[i] = points[i].time_unix_ns;
		values[i] = points[i].value;
		has_values |= points[i].has_value;
	}
	sample->times_unix_ns = profile_copy(p, times, count * sizeof(*times));
	sample->time_count = count;
	if (has_values) {
		sample->values = profile_copy(p, values, count * sizeof(*values));
		sample->value_count = count;
	}
	return profile_err(p);
}

static int write_sample(struct merger *m, u32 number, const struct point *points)
{
	const struct sample_key *key = interner_get(&m->samples, number)->at;
	const struct sample_sum *sum = &m->sums[number];
	struct profile_sample *sample = profile_add_sample(m->profile, place_set(m, key->set));

	if (!sample)
		return merger_err(m);
	sample->stack = key->stack;
	sample->link = key->link;
	sample->attributes = profile_copy_indices(m->profile, key->attributes, key->attribute_count);
	if (points && sum->point_count)
		return write_points(m->profile, sample, points, sum->point_count);
	sample->values = profile_copy(m->profile, &sum->value, sizeof(sum->value));
	sample->value_count = 1;
	return profile_err(m->profile);
}

int merger_finish(struct merger *merger, struct profile **ret_profile)
{
	_cleanup_(freep) u64 *end = calloc((size_t)merger->samples.count + 1, sizeof(*end));
	_cleanup_(freep) struct point *sorted = NULL;

	if (!end)
		return -ENOMEM;
	if (!merger->times_dropped) {
		sorted = points_by_sample(merger, end);
		if (!sorted)
			return -ENOMEM;
	}
	for (u32 i = 0; i < merger->samples.count; i++) {
		int r = write_sample(merger, i, sorted ? sorted + end[i] - merger->sums[i].point_count : NULL);

		if (r < 0)
			return r;
	}
	*ret_profile = TAKE(merger->profile);
	return 0;
}

bool merger_times_dropped(const struct merger *merger)
{
	return merger->times_dropped;
}
