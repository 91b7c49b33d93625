// SPDX-License-Identifier: Apache-2.0
#include "profile/append.h"

#include <errno.h>

#include "base/array.h"
#include "profile/profile.h"

enum table { STRINGS, MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, ATTRIBUTES, STACKS, TABLES };

struct appender {
	const struct profile *from;
	struct profile *into;
	/*
	 * Where rows are found in `into`: generation << 32 | index. Each call begins a generation, so
	 * that many small pieces of a large profile do not clear all of it each time.
	 */
	u64 *maps[TABLES];
	u32 generation;
	u32 resource, scope, set, sample;	/* what comes next */
	int err;
	/* Scratch: of stacks; of attributes; of locations. */
	u32 *stack, *list;
	struct profile_line *lines;
	u32 stack_cap, list_cap, line_cap;
};

struct appender *appender_new(const struct profile *from)
{
	const u32 counts[TABLES] = {
		from->strings.count, from->mappings.count, from->locations.count, from->functions.count,
		from->links.count, from->attributes.count, from->stacks.count,
	};
	_cleanup_(appender_freep) struct appender *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->from = from;
	for (int i = 0; i < TABLES; i++) {
		a->maps[i] = calloc(counts[i] + 1, sizeof(*a->maps[i]));
		if (!a->maps[i])
			return NULL;
	}
	return TAKE(a);
}

void appender_free(struct appender *a)
{
	if (!a)
		return;
	for (int i = 0; i < TABLES; i++)
		free(a->maps[i]);
	free(a->stack);
	free(a->list);
	free(a->lines);
	free(a);
}

bool appender_done(const struct appender *a)
{
	return a->resource >= a->from->resources.count;
}

/* ---- Rows ----------------------------------------------------------------------- */

/* Is row i of the table known in `into`? Row 0 is the same everywhere. */
static bool known(const struct appender *a, enum table table, u32 i, u32 *ret_index)
{
	u64 entry = i ? a->maps[table][i] : (u64)a->generation << 32;

	*ret_index = (u32)entry;
	return entry >> 32 == a->generation;
}

static u32 learn(struct appender *a, enum table table, u32 i, u32 index)
{
	a->maps[table][i] = (u64)a->generation << 32 | index;
	return index;
}

static bool reserve(struct appender *a, void *array, u32 *cap, u32 need, size_t element_bytes)
{
	int r = array_reserve(array, cap, need, element_bytes);

	if (r < 0)
		a->err = r;
	return r == 0;
}

static u32 map_string(struct appender *a, u32 i)
{
	struct str s = a->from->strings.at[i];
	u32 index;

	if (known(a, STRINGS, i, &index))
		return index;
	return learn(a, STRINGS, i, profile_add_string(a->into, s.at, s.len));
}

static u32 map_attribute(struct appender *a, u32 i)
{
	struct profile_attribute row = a->from->attributes.at[i];
	u32 index;

	if (known(a, ATTRIBUTES, i, &index))
		return index;
	row.key = map_string(a, row.key);
	row.unit = map_string(a, row.unit);
	return learn(a, ATTRIBUTES, i, profile_add_attribute(a->into, &row));
}

/* Borrowed until the next list of attributes. */
static struct indices map_attributes(struct appender *a, struct indices from)
{
	if (!from.count || !reserve(a, &a->list, &a->list_cap, from.count, sizeof(*a->list)))
		return (struct indices){ NULL, 0 };
	for (u32 i = 0; i < from.count; i++)
		a->list[i] = map_attribute(a, from.at[i]);
	return (struct indices){ a->list, from.count };
}

static u32 map_mapping(struct appender *a, u32 i)
{
	struct profile_mapping row = a->from->mappings.at[i];
	u32 index;

	if (known(a, MAPPINGS, i, &index))
		return index;
	row.filename = map_string(a, row.filename);
	row.attributes = map_attributes(a, row.attributes);
	return learn(a, MAPPINGS, i, profile_add_mapping(a->into, &row));
}

static u32 map_function(struct appender *a, u32 i)
{
	struct profile_function row = a->from->functions.at[i];
	u32 index;

	if (known(a, FUNCTIONS, i, &index))
		return index;
	row.name = map_string(a, row.name);
	row.system_name = map_string(a, row.system_name);
	row.filename = map_string(a, row.filename);
	return learn(a, FUNCTIONS, i, profile_add_function(a->into, &row));
}

static u32 map_location(struct appender *a, u32 i)
{
	struct profile_location row = a->from->locations.at[i];
	u32 index;

	if (known(a, LOCATIONS, i, &index))
		return index;
	if (!reserve(a, &a->lines, &a->line_cap, row.line_count, sizeof(*a->lines)))
		return 0;
	for (u32 k = 0; k < row.line_count; k++) {
		a->lines[k] = row.lines[k];
		a->lines[k].function = map_function(a, row.lines[k].function);
	}
	row.lines = a->lines;
	row.mapping = map_mapping(a, row.mapping);
	row.attributes = map_attributes(a, row.attributes);	/* last: the mapping has such a list too */
	return learn(a, LOCATIONS, i, profile_add_location(a->into, &row));
}

static u32 map_link(struct appender *a, u32 i)
{
	u32 index;

	if (known(a, LINKS, i, &index))
		return index;
	return learn(a, LINKS, i, profile_add_link(a->into, &a->from->links.at[i]));
}

static u32 map_stack(struct appender *a, u32 i)
{
	struct indices from = a->from->stacks.at[i];
	u32 index;

	if (known(a, STACKS, i, &index))
		return index;
	if (!reserve(a, &a->stack, &a->stack_cap, from.count, sizeof(*a->stack)))
		return 0;
	for (u32 k = 0; k < from.count; k++)
		a->stack[k] = map_location(a, from.at[k]);
	return learn(a, STACKS, i, profile_add_stack(a->into, a->stack, from.count));
}

/* ---- Samples, sets, scopes, resources ------------------------------------------- */

static struct str copy_str(struct appender *a, struct str s)
{
	return profile_copy_str(a->into, s.at, s.len);
}

static struct indices copy_attributes(struct appender *a, struct indices from)
{
	struct indices list = map_attributes(a, from);

	return profile_copy_indices(a->into, list.at, list.count);
}

static void copy_sample(struct appender *a, const struct profile_sample *from, struct profile_set *set)
{
	struct profile_sample sample = *from, *to;

	sample.stack = map_stack(a, from->stack);
	sample.link = map_link(a, from->link);
	sample.attributes = copy_attributes(a, from->attributes);
	sample.values = from->value_count ? profile_copy(a->into, from->values, from->value_count * sizeof(s64)) : NULL;
	sample.times_unix_ns =
		from->time_count ? profile_copy(a->into, from->times_unix_ns, from->time_count * sizeof(u64)) : NULL;
	to = profile_add_sample(a->into, set);
	if (to)
		*to = sample;
}

static struct profile_type map_type(struct appender *a, struct profile_type type)
{
	return (struct profile_type){ map_string(a, type.type), map_string(a, type.unit) };
}

static struct profile_set *copy_set(struct appender *a, const struct profile_set *from, struct profile_scope *scope)
{
	struct profile_set *to = profile_add_set(a->into, scope);

	if (!to)
		return NULL;
	*to = *from;
	to->samples = NULL;
	to->sample_count = to->sample_cap = 0;
	to->sample_type = map_type(a, from->sample_type);
	to->period_type = map_type(a, from->period_type);
	to->original_format = copy_str(a, from->original_format);
	to->original_payload = copy_str(a, from->original_payload);
	to->attributes = copy_attributes(a, from->attributes);
	return to;
}

static struct profile_scope *copy_scope(struct appender *a, const struct profile_scope *from,
					struct profile_resource *resource)
{
	struct profile_scope *to = profile_add_scope(a->into, resource);

	if (!to)
		return NULL;
	to->name = copy_str(a, from->name);
	to->version = copy_str(a, from->version);
	to->schema_url = copy_str(a, from->schema_url);
	to->attributes = profile_copy_keyvalues(a->into, from->attributes, from->attribute_count);
	to->attribute_count = from->attribute_count;
	to->dropped_attributes_count = from->dropped_attributes_count;
	return to;
}

static struct profile_resource *copy_resource(struct appender *a, const struct profile_resource *from)
{
	struct profile_resource *to = profile_add_resource(a->into, from->attributes, from->attribute_count);

	if (!to)
		return NULL;
	to->schema_url = copy_str(a, from->schema_url);
	to->dropped_attributes_count = from->dropped_attributes_count;
	return to;
}

static bool failed(const struct appender *a)
{
	return a->err < 0 || profile_err(a->into) < 0;
}

/* Each of these copies what is left of one thing, or what fits, and moves on to the next if all did. */
static void next_set(struct appender *a, const struct profile_set *from, struct profile_scope *scope, u64 *left)
{
	struct profile_set *to = copy_set(a, from, scope);

	while (!failed(a) && a->sample < from->sample_count && *left) {
		copy_sample(a, &from->samples[a->sample++], to);
		--*left;
	}
	if (a->sample < from->sample_count)
		return;
	a->sample = 0;
	a->set++;
}

static void next_scope(struct appender *a, const struct profile_scope *from, struct profile_resource *resource,
		       u64 *left)
{
	struct profile_scope *to = copy_scope(a, from, resource);

	while (!failed(a) && a->set < from->set_count && *left)
		next_set(a, &from->sets[a->set], to, left);
	if (a->set < from->set_count)
		return;
	a->set = 0;
	a->scope++;
}

static void next_resource(struct appender *a, u64 *left)
{
	const struct profile_resource *from = &a->from->resources.at[a->resource];
	struct profile_resource *to = copy_resource(a, from);

	while (!failed(a) && a->scope < from->scope_count && *left)
		next_scope(a, &from->scopes[a->scope], to, left);
	if (a->scope < from->scope_count)
		return;
	a->scope = 0;
	a->resource++;
}

int appender_next(struct appender *a, struct profile *into, u64 samples_max, u64 *ret_count)
{
	u64 left = samples_max;

	a->generation++;
	a->into = into;
	while (!appender_done(a) && !failed(a) && left)
		next_resource(a, &left);
	if (a->err < 0)
		return a->err;
	if (profile_err(into) < 0)
		return profile_err(into);
	*ret_count = samples_max - left;
	return 0;
}
