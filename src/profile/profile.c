// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/saturate.h"
#include "kinds/kind.h"
#include "profile/any.h"
#include "profile/table.h"

/* What one profile's arena may hold. */
#define PROFILE_BYTES_MAX ((size_t)4 << 30)

enum table_id {
	TABLE_STRINGS,
	TABLE_MAPPINGS,
	TABLE_LOCATIONS,
	TABLE_FUNCTIONS,
	TABLE_LINKS,
	TABLE_ATTRIBUTES,
	TABLE_STACKS,
	TABLE_COUNT,
};

struct profile_private {
	struct arena arena;
	struct table tables[TABLE_COUNT];
	struct budget_charge charge;	/* of array_bytes */
	size_t array_bytes;		/* resources, scopes, sets and samples, which are not in the arena */
	u32 resource_cap;
	int err;
};

static void *profile_alloc_array(struct profile *profile, u32 count, size_t entry_bytes)
{
	return count ? arena_alloc(&profile->private->arena, count * entry_bytes) : NULL;
}

/* ---- Rows of the tables: hash, compare, own -------------------------------- */

static u64 indices_hash(struct indices list, u64 seed)
{
	return hash_bytes(seed, list.at, list.count * sizeof(*list.at));
}

static bool indices_equal(struct indices a, struct indices b)
{
	return a.count == b.count && (!a.count || !memcmp(a.at, b.at, a.count * sizeof(*a.at)));
}

static int indices_own(struct profile *profile, struct indices *list)
{
	*list = profile_copy_indices(profile, list->at, list->count);
	return arena_err(&profile->private->arena);
}

static u64 string_hash(const void *row, u64 seed)
{
	const struct str *s = row;

	return hash_bytes(seed, s->at, s->len);
}

static bool string_equal(const void *a, const void *b)
{
	return str_equal(*(const struct str *)a, *(const struct str *)b);
}

static int string_own(void *owner, void *row)
{
	struct profile *profile = owner;
	struct str *s = row;

	*s = profile_copy_str(profile, s->at, s->len);
	return arena_err(&profile->private->arena);
}

static u64 mapping_hash(const void *row, u64 seed)
{
	const struct profile_mapping *m = row;
	u64 hash = hash_mix(hash_mix(seed, m->start_va), m->limit_va);

	return indices_hash(m->attributes, hash_mix(hash_mix(hash, m->file_offset), m->filename));
}

static bool mapping_equal(const void *row_a, const void *row_b)
{
	const struct profile_mapping *a = row_a, *b = row_b;

	return a->start_va == b->start_va && a->limit_va == b->limit_va && a->file_offset == b->file_offset &&
	       a->filename == b->filename && indices_equal(a->attributes, b->attributes);
}

static int mapping_own(void *owner, void *row)
{
	return indices_own(owner, &((struct profile_mapping *)row)->attributes);
}

static u64 location_hash(const void *row, u64 seed)
{
	const struct profile_location *l = row;
	u64 hash = hash_mix(hash_mix(hash_mix(seed, l->mapping), l->address), l->line_count);

	for (u32 i = 0; i < l->line_count; i++) {
		hash = hash_mix(hash, (u64)l->lines[i].function << 32 ^ l->lines[i].line);
		hash = hash_mix(hash, l->lines[i].column);
	}
	return indices_hash(l->attributes, hash);
}

static bool location_equal(const void *row_a, const void *row_b)
{
	const struct profile_location *a = row_a, *b = row_b;

	if (a->mapping != b->mapping || a->address != b->address || a->line_count != b->line_count)
		return false;
	for (u32 i = 0; i < a->line_count; i++)
		if (a->lines[i].function != b->lines[i].function || a->lines[i].line != b->lines[i].line ||
		    a->lines[i].column != b->lines[i].column)
			return false;
	return indices_equal(a->attributes, b->attributes);
}

static int location_own(void *owner, void *row)
{
	struct profile_location *l = row;

	l->lines = l->line_count ? profile_copy(owner, l->lines, l->line_count * sizeof(*l->lines)) : NULL;
	return indices_own(owner, &l->attributes);
}

static u64 function_hash(const void *row, u64 seed)
{
	const struct profile_function *f = row;
	u64 hash = hash_mix(seed, (u64)f->name << 32 | f->system_name);

	return hash_mix(hash_mix(hash, f->filename), f->start_line);
}

static bool function_equal(const void *row_a, const void *row_b)
{
	const struct profile_function *a = row_a, *b = row_b;

	return a->name == b->name && a->system_name == b->system_name && a->filename == b->filename &&
	       a->start_line == b->start_line;
}

static u64 link_hash(const void *row, u64 seed)
{
	return hash_bytes(seed, row, sizeof(struct profile_link));
}

static bool link_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct profile_link));
}

static u64 attribute_hash(const void *row, u64 seed)
{
	const struct profile_attribute *a = row;

	return any_hash(&a->value, hash_mix(seed, (u64)a->key << 32 | a->unit));
}

static bool attribute_equal(const void *row_a, const void *row_b)
{
	const struct profile_attribute *a = row_a, *b = row_b;

	return a->key == b->key && a->unit == b->unit && any_equal(&a->value, &b->value);
}

static int attribute_own(void *owner, void *row)
{
	struct profile_attribute *a = row;
	struct profile *profile = owner;

	a->value = profile_copy_any(profile, &a->value);
	return arena_err(&profile->private->arena);
}

static u64 stack_hash(const void *row, u64 seed)
{
	return indices_hash(*(const struct indices *)row, seed);
}

static bool stack_equal(const void *a, const void *b)
{
	return indices_equal(*(const struct indices *)a, *(const struct indices *)b);
}

static int stack_own(void *owner, void *row)
{
	return indices_own(owner, row);
}

static const struct table_type types[TABLE_COUNT] = {
	[TABLE_STRINGS] = { sizeof(struct str), string_hash, string_equal, string_own },
	[TABLE_MAPPINGS] = { sizeof(struct profile_mapping), mapping_hash, mapping_equal, mapping_own },
	[TABLE_LOCATIONS] = { sizeof(struct profile_location), location_hash, location_equal, location_own },
	[TABLE_FUNCTIONS] = { sizeof(struct profile_function), function_hash, function_equal, NULL },
	[TABLE_LINKS] = { sizeof(struct profile_link), link_hash, link_equal, NULL },
	[TABLE_ATTRIBUTES] = { sizeof(struct profile_attribute), attribute_hash, attribute_equal, attribute_own },
	[TABLE_STACKS] = { sizeof(struct indices), stack_hash, stack_equal, stack_own },
};

/* ---- Making and freeing ---------------------------------------------------- */

/* Index 0 of every table is its zero value. */
static int profile_add_zero_rows(struct profile *profile)
{
	static const char zero[TABLE_ROW_BYTES_MAX] __attribute__((aligned(16)));

	for (int id = 0; id < TABLE_COUNT; id++) {
		s64 r = table_append(&profile->private->tables[id], zero);

		if (r < 0)
			return (int)r;
	}
	return 0;
}

/* The tables' rows and counts as readers see them. */
static void profile_publish(struct profile *profile, enum table_id id)
{
	const struct table *table = &profile->private->tables[id];

#define PUBLISH(ID, name)			\
	case ID:				\
		profile->name.at = table->rows;	\
		profile->name.count = table->count; \
		break
	switch (id) {
	PUBLISH(TABLE_STRINGS, strings);
	PUBLISH(TABLE_MAPPINGS, mappings);
	PUBLISH(TABLE_LOCATIONS, locations);
	PUBLISH(TABLE_FUNCTIONS, functions);
	PUBLISH(TABLE_LINKS, links);
	PUBLISH(TABLE_ATTRIBUTES, attributes);
	PUBLISH(TABLE_STACKS, stacks);
	case TABLE_COUNT:
		break;
	}
#undef PUBLISH
}

static u64 random_seed(const struct profile *profile)
{
	u64 seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (u64)(uintptr_t)profile;
	return seed;
}

u64 profile_seed(const struct profile *profile)
{
	return profile->private->tables[0].seed;
}

struct profile *profile_new(void)
{
	_cleanup_(profile_freep) struct profile *profile = calloc(1, sizeof(*profile));
	u64 seed;

	if (!profile)
		return NULL;
	profile->private = calloc(1, sizeof(*profile->private));
	if (!profile->private)
		return NULL;
	seed = random_seed(profile);
	arena_init(&profile->private->arena, PROFILE_BYTES_MAX);
	budget_charge_init(&profile->private->charge);
	for (int id = 0; id < TABLE_COUNT; id++)
		table_init(&profile->private->tables[id], &types[id], profile, seed, PROFILE_TABLE_MAX);
	if (profile_add_zero_rows(profile) < 0)
		return NULL;
	for (int id = 0; id < TABLE_COUNT; id++)
		profile_publish(profile, id);
	return TAKE(profile);
}

static void resource_done(struct profile_resource *resource)
{
	for (u32 s = 0; s < resource->scope_count; s++) {
		for (u32 i = 0; i < resource->scopes[s].set_count; i++)
			free(resource->scopes[s].sets[i].samples);
		free(resource->scopes[s].sets);
	}
	free(resource->scopes);
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (u32 i = 0; i < profile->resources.count; i++)
		resource_done(&profile->resources.at[i]);
	free(profile->resources.at);
	if (profile->private) {
		for (int id = 0; id < TABLE_COUNT; id++)
			table_done(&profile->private->tables[id]);
		arena_done(&profile->private->arena);
		(void)budget_charge_to(&profile->private->charge, 0);
	}
	free(profile->private);
	free(profile);
}

int profile_err(const struct profile *profile)
{
	return profile->private->err ? profile->private->err : arena_err(&profile->private->arena);
}

size_t profile_bytes(const struct profile *profile)
{
	const struct profile_private *private = profile->private;
	size_t bytes = sizeof(*profile) + sizeof(*private) + private->arena.held + private->array_bytes;

	for (int id = 0; id < TABLE_COUNT; id++)
		bytes += table_bytes(&private->tables[id]);
	return bytes;
}

/* ---- Copies ---------------------------------------------------------------- */

void *profile_alloc(struct profile *profile, size_t bytes)
{
	return arena_alloc(&profile->private->arena, bytes);
}

const void *profile_copy(struct profile *profile, const void *at, size_t bytes)
{
	return arena_copy(&profile->private->arena, at, bytes);
}

struct str profile_copy_str(struct profile *profile, const char *at, size_t len)
{
	const char *copy = NULL;

	if (len > UINT32_MAX)
		profile->private->err = -E2BIG;
	else if (len)
		copy = arena_copy(&profile->private->arena, at, len);
	return (struct str){ copy, copy ? (u32)len : 0 };
}

struct indices profile_copy_indices(struct profile *profile, const u32 *at, u32 count)
{
	const u32 *copy = count ? profile_copy(profile, at, count * sizeof(*at)) : NULL;

	return (struct indices){ copy, copy ? count : 0 };
}

static const struct any *profile_copy_array(struct profile *profile, const struct any *array, u32 count)
{
	struct any *copy = profile_alloc_array(profile, count, sizeof(*copy));

	for (u32 i = 0; copy && i < count; i++)
		copy[i] = profile_copy_any(profile, &array[i]);
	return copy;
}

const struct keyvalue *profile_copy_keyvalues(struct profile *profile, const struct keyvalue *at, u32 count)
{
	struct keyvalue *copy = profile_alloc_array(profile, count, sizeof(*copy));

	for (u32 i = 0; copy && i < count; i++) {
		copy[i].key = profile_copy_str(profile, at[i].key.at, at[i].key.len);
		copy[i].value = profile_copy_any(profile, &at[i].value);
	}
	return copy;
}

struct any profile_copy_any(struct profile *profile, const struct any *value)
{
	struct any copy = *value;

	switch (value->kind) {
	case ANY_STRING:
	case ANY_BYTES:
		copy.string = profile_copy_str(profile, value->string.at, value->string.len);
		break;
	case ANY_ARRAY:
		copy.array = profile_copy_array(profile, value->array, value->count);
		copy.count = copy.array ? value->count : 0;
		break;
	case ANY_MAP:
		copy.map = profile_copy_keyvalues(profile, value->map, value->count);
		copy.count = copy.map ? value->count : 0;
		break;
	case ANY_NONE:
	case ANY_BOOL:
	case ANY_INT:
	case ANY_DOUBLE:
		break;
	}
	return copy;
}

/* ---- Adders ---------------------------------------------------------------- */

/* Keeps the first failure. */
static u32 profile_kept(struct profile *profile, enum table_id id, s64 number)
{
	if (number < 0) {
		profile->private->err = (int)number;
		return 0;
	}
	profile_publish(profile, id);
	return (u32)number;
}

static u32 profile_add_row(struct profile *profile, enum table_id id, const void *row)
{
	if (profile_err(profile))
		return 0;
	return profile_kept(profile, id, table_add(&profile->private->tables[id], row));
}

static u32 profile_append_row(struct profile *profile, enum table_id id, const void *row)
{
	if (profile_err(profile))
		return 0;
	return profile_kept(profile, id, table_append(&profile->private->tables[id], row));
}

static void profile_expect_rows(struct profile *profile, enum table_id id, u32 count)
{
	if (!profile_err(profile))
		(void)profile_kept(profile, id, table_reserve(&profile->private->tables[id], count));
}

#define ROW_FUNCTIONS(name, ID)								\
	u32 profile_add_##name(struct profile *profile, const struct profile_##name *name)	\
	{										\
		return profile_add_row(profile, ID, name);				\
	}										\
	u32 profile_append_##name(struct profile *profile, const struct profile_##name *name) \
	{										\
		return profile_append_row(profile, ID, name);				\
	}										\
	void profile_expect_##name##s(struct profile *profile, u32 count)		\
	{										\
		profile_expect_rows(profile, ID, count);				\
	}
ROW_FUNCTIONS(mapping, TABLE_MAPPINGS)
ROW_FUNCTIONS(location, TABLE_LOCATIONS)
ROW_FUNCTIONS(function, TABLE_FUNCTIONS)
ROW_FUNCTIONS(link, TABLE_LINKS)
ROW_FUNCTIONS(attribute, TABLE_ATTRIBUTES)
#undef ROW_FUNCTIONS

void profile_expect_strings(struct profile *profile, u32 count)
{
	profile_expect_rows(profile, TABLE_STRINGS, count);
}

void profile_expect_stacks(struct profile *profile, u32 count)
{
	profile_expect_rows(profile, TABLE_STACKS, count);
}

u32 profile_append_string(struct profile *profile, struct str string)
{
	return profile_append_row(profile, TABLE_STRINGS, &string);
}

u32 profile_append_stack(struct profile *profile, struct indices locations)
{
	return profile_append_row(profile, TABLE_STACKS, &locations);
}

u32 profile_add_string(struct profile *profile, const char *at, size_t len)
{
	if (len > UINT32_MAX && !profile->private->err)
		profile->private->err = -E2BIG;
	return profile_add_row(profile, TABLE_STRINGS, &(struct str){ at, (u32)len });
}

u32 profile_add_cstring(struct profile *profile, const char *text)
{
	return profile_add_string(profile, text, strlen(text));
}

u32 profile_add_stack(struct profile *profile, const u32 *locations, u32 count)
{
	return profile_add_row(profile, TABLE_STACKS, &(struct indices){ locations, count });
}

void profile_set_lines(struct profile *profile, u32 location, const struct profile_line *lines, u32 count)
{
	struct profile_location row = profile->locations.at[location];

	row.lines = profile_copy(profile, lines, count * sizeof(*lines));
	row.line_count = row.lines ? count : 0;
	if (row.lines)
		table_replace(&profile->private->tables[TABLE_LOCATIONS], location, &row);
}

u32 profile_add_attribute_string(struct profile *profile, const char *key, const char *value)
{
	struct profile_attribute attribute = {
		.key = profile_add_cstring(profile, key),
		.value = { .kind = ANY_STRING, .string = { value, (u32)strlen(value) } },
	};

	return profile_add_attribute(profile, &attribute);
}

u32 profile_add_attribute_int(struct profile *profile, const char *key, s64 value)
{
	struct profile_attribute attribute = {
		.key = profile_add_cstring(profile, key),
		.value = { .kind = ANY_INT, .integer = value },
	};

	return profile_add_attribute(profile, &attribute);
}

/* ---- Resources, scopes, sets, samples -------------------------------------- */

/* Appends a zeroed entry to a growing array, or returns NULL and keeps the error. */
static void *profile_push(struct profile *profile, void **array, u32 *cap, u32 *count, size_t entry_bytes)
{
	u32 old_cap = *cap;
	int r = profile_err(profile);

	if (r == 0 && *count == *cap)
		r = budget_charge_to(&profile->private->charge,
				     profile->private->array_bytes + (*cap ? *cap : ARRAY_GROW_MIN) * entry_bytes);
	if (r == 0)
		r = array_grow_kept(array, cap, *count, PROFILE_TABLE_MAX, entry_bytes);
	if (r < 0) {
		profile->private->err = r;
		return NULL;
	}
	profile->private->array_bytes += (*cap - old_cap) * entry_bytes;
	return memset((char *)*array + (size_t)(*count)++ * entry_bytes, 0, entry_bytes);
}

struct profile_resource *profile_add_resource(struct profile *profile, const struct keyvalue *attributes, u32 count)
{
	const struct keyvalue *copy = profile_copy_keyvalues(profile, attributes, count);
	struct profile_resource *resource;

	resource = profile_push(profile, (void **)&profile->resources.at, &profile->private->resource_cap,
				&profile->resources.count, sizeof(*resource));
	if (!resource)
		return NULL;
	resource->attributes = copy;
	resource->attribute_count = count;
	return resource;
}

struct profile_scope *profile_add_scope(struct profile *profile, struct profile_resource *resource)
{
	if (!resource)
		return NULL;
	return profile_push(profile, (void **)&resource->scopes, &resource->scope_cap, &resource->scope_count,
			    sizeof(*resource->scopes));
}

struct profile_set *profile_add_set(struct profile *profile, struct profile_scope *scope)
{
	if (!scope)
		return NULL;
	return profile_push(profile, (void **)&scope->sets, &scope->set_cap, &scope->set_count, sizeof(*scope->sets));
}

static struct profile_type add_type(struct profile *profile, struct kind_type type)
{
	return (struct profile_type){ profile_add_cstring(profile, type.type),
				      profile_add_cstring(profile, type.unit) };
}

void profile_set_describe(struct profile *profile, struct profile_set *set, const struct kind *kind, s64 period)
{
	set->sample_type = add_type(profile, kind->sample);
	if (!kind->period.type)
		return;
	set->period_type = add_type(profile, kind->period);
	set->period = period;
}

s64 profile_set_period_ns(const struct profile *profile, const struct profile_set *set)
{
	struct unit_scale scale = unit_scale(profile->strings.at[set->period_type.unit]);

	return set->period > 0 && scale.unit == UNIT_NANOSECONDS ? saturating_multiply(set->period, scale.factor) : 0;
}

struct profile_sample *profile_add_sample(struct profile *profile, struct profile_set *set)
{
	if (!set)
		return NULL;
	return profile_push(profile, (void **)&set->samples, &set->sample_cap, &set->sample_count,
			    sizeof(*set->samples));
}

/* ---- Reading --------------------------------------------------------------- */

s64 profile_sample_value(const struct profile_sample *sample)
{
	u64 sum = 0;		/* values may be anything: overflow wraps, it is not undefined */

	for (u32 i = 0; i < sample->value_count; i++)
		sum += (u64)sample->values[i];
	return sample->value_count ? (s64)sum : sample->time_count;
}

s64 profile_sample_value_at(const struct profile_sample *sample, u32 time)
{
	if (!sample->value_count || (sample->value_count == 1 && sample->values[0] == sample->time_count))
		return 1;
	if (sample->value_count == sample->time_count)
		return sample->values[time];
	return time ? 0 : profile_sample_value(sample);
}

u64 profile_resource_samples(const struct profile_resource *resource)
{
	u64 samples = 0;

	for (u32 i = 0; i < resource->scope_count; i++)
		for (u32 k = 0; k < resource->scopes[i].set_count; k++)
			samples += resource->scopes[i].sets[k].sample_count;
	return samples;
}

u64 profile_samples(const struct profile *profile)
{
	u64 samples = 0;

	for (u32 i = 0; i < profile->resources.count; i++)
		samples += profile_resource_samples(&profile->resources.at[i]);
	return samples;
}

const struct any *keyvalue_find(const struct keyvalue *at, u32 count, const char *key)
{
	struct str wanted = { key, (u32)strlen(key) };

	for (u32 i = 0; i < count; i++)
		if (str_equal(at[i].key, wanted))
			return &at[i].value;
	return NULL;
}

bool profile_executable_path(const struct profile *profile, struct str name, u32 *next, struct str *ret_path)
{
	struct str base = str_base_name(name);

	while (*next < profile->resources.count) {
		const struct profile_resource *r = &profile->resources.at[(*next)++];
		const struct any *path = keyvalue_find(r->attributes, r->attribute_count, "process.executable.path");

		if (path && path->kind == ANY_STRING && str_equal(str_base_name(path->string), base)) {
			*ret_path = path->string;
			return true;
		}
	}
	return false;
}

const struct any *profile_attribute_find(const struct profile *profile, struct indices attributes, const char *key)
{
	struct str wanted = { key, (u32)strlen(key) };

	for (u32 i = 0; i < attributes.count; i++) {
		const struct profile_attribute *a = &profile->attributes.at[attributes.at[i]];

		if (str_equal(profile->strings.at[a->key], wanted))
			return &a->value;
	}
	return NULL;
}
