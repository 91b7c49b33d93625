// SPDX-License-Identifier: Apache-2.0
/* What statements can name: ottl_paths at the end is the list. */
#include <errno.h>
#include <string.h>

#include "base/hex.h"
#include "ottl/expr.h"
#include "profile/any.h"

/* ---- Attributes --------------------------------------------------------------------------------- */

static struct attrs resource_attrs(struct ottl_run *run)
{
	return attrs_of_resource(run->at.profile, run->at.resource);
}

static struct attrs scope_attrs(struct ottl_run *run)
{
	return attrs_of_scope(run->at.profile, run->at.scope);
}

static struct attrs set_attrs(struct ottl_run *run)
{
	return attrs_of_set(run->at.profile, run->at.set);
}

static struct attrs sample_attrs(struct ottl_run *run)
{
	return attrs_of_sample(run->at.profile, run->at.sample);
}

/* ---- The cache: a map that lasts from one statement to the next on the same target -------------- */

static int cache_get(struct ottl_run *run, struct value *ret_value)
{
	*ret_value = (struct value){ .any = { ANY_MAP, run->cache.count, .map = run->cache.at } };
	return 0;
}

static int cache_set(struct ottl_run *run, const struct value *value)
{
	struct any copy = any_copy(&run->cache.arena, &value->any);
	int r = arena_err(&run->cache.arena);

	if (r < 0)
		return run_fail(run, r, "the cache is full: it holds %zu bytes", OTTL_CACHE_BYTES);
	run->cache.at = copy.map;
	run->cache.count = copy.count;
	return 0;
}

/* ---- Strings in the profile's arena and in its table --------------------------------------------- */

static int set_str(struct ottl_run *run, struct str *string, const struct value *value)
{
	struct str copy = profile_copy_str(run->at.profile, value->any.string.at, value->any.string.len);
	int r = profile_err(run->at.profile);

	if (r < 0)
		return run_fail(run, r, "out of memory");
	*string = copy;
	return 0;
}

static int set_index(struct ottl_run *run, u32 *index, const struct value *value)
{
	u32 added = profile_add_string(run->at.profile, value->any.string.at, value->any.string.len);
	int r = profile_err(run->at.profile);

	if (r < 0)
		return run_fail(run, r, "out of memory");
	*index = added;
	return 0;
}

#define STR_PATH(name, field)									\
	static int name##_get(struct ottl_run *run, struct value *ret_value)			\
	{											\
		*ret_value = value_string(run->at.field);					\
		return 0;									\
	}											\
	static int name##_set(struct ottl_run *run, const struct value *value)			\
	{											\
		return set_str(run, &run->at.field, value);					\
	}

#define INDEX_PATH(name, field)									\
	static int name##_get(struct ottl_run *run, struct value *ret_value)			\
	{											\
		*ret_value = value_string(run->at.profile->strings.at[run->at.field]);		\
		return 0;									\
	}											\
	static int name##_set(struct ottl_run *run, const struct value *value)			\
	{											\
		return set_index(run, &run->at.field, value);					\
	}

/* Whole numbers from min to max. */
#define NUMBER_PATH(name, field, min, max)							\
	static int name##_get(struct ottl_run *run, struct value *ret_value)			\
	{											\
		*ret_value = value_int((s64)run->at.field);					\
		return 0;									\
	}											\
	static int name##_set(struct ottl_run *run, const struct value *value)			\
	{											\
		s64 n = value->any.integer;							\
												\
		if (n < (min) || n > (max))							\
			return run_fail(run, -ERANGE, "%lld is out of range", (long long)n);	\
		run->at.field = (__typeof__(run->at.field))n;					\
		return 0;									\
	}

STR_PATH(resource_schema_url, resource->schema_url)
STR_PATH(scope_name, scope->name)
STR_PATH(scope_version, scope->version)
STR_PATH(scope_schema_url, scope->schema_url)
NUMBER_PATH(resource_dropped, resource->dropped_attributes_count, 0, UINT32_MAX)
NUMBER_PATH(scope_dropped, scope->dropped_attributes_count, 0, UINT32_MAX)
INDEX_PATH(sample_type_type, set->sample_type.type)
INDEX_PATH(sample_type_unit, set->sample_type.unit)
INDEX_PATH(period_type_type, set->period_type.type)
INDEX_PATH(period_type_unit, set->period_type.unit)
NUMBER_PATH(period, set->period, INT64_MIN, INT64_MAX)
NUMBER_PATH(time_unix_nano, set->time_unix_ns, INT64_MIN, INT64_MAX)
NUMBER_PATH(duration, set->duration_ns, 0, INT64_MAX)
NUMBER_PATH(set_dropped, set->dropped_attributes_count, 0, UINT32_MAX)
STR_PATH(original_format, set->original_format)

static int time_get(struct ottl_run *run, struct value *ret_value)
{
	*ret_value = (struct value){ .any = { .kind = ANY_INT, .integer = (s64)run->at.set->time_unix_ns },
				     .role = VALUE_TIME };
	return 0;
}

/* ---- Profiles -------------------------------------------------------------------------------------- */

static int payload_get(struct ottl_run *run, struct value *ret_value)
{
	*ret_value = (struct value){ .any = { .kind = ANY_BYTES, .string = run->at.set->original_payload } };
	return 0;
}

static int payload_set(struct ottl_run *run, const struct value *value)
{
	return set_str(run, &run->at.set->original_payload, value);
}

static int profile_id_get(struct ottl_run *run, struct value *ret_value)
{
	const u8 *id = run->at.set->profile_id;

	*ret_value = (struct value){ .any = { .kind = ANY_BYTES, .string = { (const char *)id, 16 } } };
	return 0;
}

static int profile_id_set(struct ottl_run *run, const struct value *value)
{
	static const u8 zero[16];

	if (value->any.string.len != 16)
		return run_fail(run, -EINVAL, "a profile id has 16 bytes, not %u", value->any.string.len);
	memcpy(run->at.set->profile_id, value->any.string.at, 16);
	run->at.set->has_profile_id = memcmp(run->at.set->profile_id, zero, 16) != 0;
	return 0;
}

static int profile_id_string_get(struct ottl_run *run, struct value *ret_value)
{
	char *text = run_alloc(run, 32);

	if (!text)
		return run_err(run);
	hex_write(run->at.set->profile_id, 16, text);
	*ret_value = value_string((struct str){ text, 32 });
	return 0;
}

static int profile_id_string_set(struct ottl_run *run, const struct value *value)
{
	char id[16];

	if (value->any.string.len != 32 || !hex_decode(value->any.string, id))
		return run_fail(run, -EINVAL, "a profile id has 32 hexadecimal digits");
	return profile_id_set(run, &(struct value){ .any = { .kind = ANY_BYTES, .string = { id, 16 } } });
}

static int samples_get(struct ottl_run *run, struct value *ret_value)
{
	*ret_value = (struct value){ .any = { .kind = ANY_ARRAY, .count = run->at.set->sample_count },
				     .role = VALUE_SAMPLES };
	return 0;
}

/* ---- Lists of whole numbers -------------------------------------------------------------------------- */

static int list_of_u32(struct ottl_run *run, struct indices list, struct value *ret_value)
{
	struct any *array = run_alloc(run, list.count * sizeof(*array));

	if (!array)
		return run_err(run);
	for (u32 i = 0; i < list.count; i++)
		array[i] = value_int(list.at[i]).any;
	*ret_value = (struct value){ .any = { ANY_ARRAY, list.count, .array = array } };
	return 0;
}

static int list_of_s64(struct ottl_run *run, const s64 *at, u32 count, struct value *ret_value)
{
	struct any *array = run_alloc(run, count * sizeof(*array));

	if (!array)
		return run_err(run);
	for (u32 i = 0; i < count; i++)
		array[i] = value_int(at[i]).any;
	*ret_value = (struct value){ .any = { ANY_ARRAY, count, .array = array } };
	return 0;
}

/* Numbers of a list into the profile's arena. */
static int numbers_of(struct ottl_run *run, const struct value *value, s64 min, s64 max, s64 **ret_numbers)
{
	s64 *numbers = profile_alloc(run->at.profile, (value->any.count + 1) * sizeof(*numbers));

	if (!numbers)
		return run_fail(run, -ENOMEM, "out of memory");
	for (u32 i = 0; i < value->any.count; i++) {
		const struct any *n = &value->any.array[i];

		if (n->kind != ANY_INT || n->integer < min || n->integer > max)
			return run_fail(run, -EINVAL, "member %u of the list is no whole number in range", i);
		numbers[i] = n->integer;
	}
	*ret_numbers = numbers;
	return 0;
}

static int set_attribute_indices(struct ottl_run *run, struct indices *indices, const struct value *value)
{
	s64 *numbers;
	u32 *list;
	int r = numbers_of(run, value, 0, (s64)run->at.profile->attributes.count - 1, &numbers);

	if (r < 0)
		return r;
	list = profile_alloc(run->at.profile, (value->any.count + 1) * sizeof(*list));
	if (!list)
		return run_fail(run, -ENOMEM, "out of memory");
	for (u32 i = 0; i < value->any.count; i++)
		list[i] = (u32)numbers[i];
	*indices = (struct indices){ list, value->any.count };
	return 0;
}

static int set_indices_get(struct ottl_run *run, struct value *ret_value)
{
	return list_of_u32(run, run->at.set->attributes, ret_value);
}

static int set_indices_set(struct ottl_run *run, const struct value *value)
{
	return set_attribute_indices(run, &run->at.set->attributes, value);
}

static int sample_indices_get(struct ottl_run *run, struct value *ret_value)
{
	return list_of_u32(run, run->at.sample->attributes, ret_value);
}

static int sample_indices_set(struct ottl_run *run, const struct value *value)
{
	return set_attribute_indices(run, &run->at.sample->attributes, value);
}

/* ---- Samples ------------------------------------------------------------------------------------------ */

static int values_get(struct ottl_run *run, struct value *ret_value)
{
	return list_of_s64(run, run->at.sample->values, run->at.sample->value_count, ret_value);
}

/* Values and times go together: as many of each, or one value, or none of one. */
static int check_counts(struct ottl_run *run, u32 values, u32 times)
{
	if (values == times || !values || !times || values == 1)
		return 0;
	return run_fail(run, -EINVAL, "%u values and %u timestamps do not go together", values, times);
}

static int values_set(struct ottl_run *run, const struct value *value)
{
	s64 *numbers;
	int r = check_counts(run, value->any.count, run->at.sample->time_count);

	if (r >= 0)
		r = numbers_of(run, value, INT64_MIN, INT64_MAX, &numbers);
	if (r < 0)
		return r;
	run->at.sample->values = numbers;
	run->at.sample->value_count = value->any.count;
	return 0;
}

static int times_get(struct ottl_run *run, struct value *ret_value)
{
	return list_of_s64(run, (const s64 *)run->at.sample->times_unix_ns, run->at.sample->time_count, ret_value);
}

static int times_set(struct ottl_run *run, const struct value *value)
{
	s64 *numbers;
	int r = check_counts(run, run->at.sample->value_count, value->any.count);

	if (r >= 0)
		r = numbers_of(run, value, 0, INT64_MAX, &numbers);
	if (r < 0)
		return r;
	run->at.sample->times_unix_ns = (const u64 *)numbers;
	run->at.sample->time_count = value->any.count;
	return 0;
}

static int link_get(struct ottl_run *run, struct value *ret_value)
{
	*ret_value = value_int(run->at.sample->link);
	return 0;
}

static int link_set(struct ottl_run *run, const struct value *value)
{
	if (value->any.integer < 0 || value->any.integer >= run->at.profile->links.count)
		return run_fail(run, -ERANGE, "there is no link %lld", (long long)value->any.integer);
	run->at.sample->link = (u32)value->any.integer;
	return 0;
}

/* ---- The list ------------------------------------------------------------------------------------------- */

#define ATTRS(context, attrs, help) \
	{ context, "attributes", TYPE_MAP, TYPE_MAP | TYPE_NIL, true, NULL, NULL, attrs, help }
#define FIELD(context, name, type, function, help) \
	{ context, name, type, type, false, function##_get, function##_set, NULL, help }

const struct path_ops ottl_paths[] = {
	{ OTTL_INFER, "cache", TYPE_MAP, TYPE_MAP, true, cache_get, cache_set, NULL,
	  "a map for what later statements need; empty again for each item" },
	ATTRS(OTTL_RESOURCE, resource_attrs, "attributes of the resource"),
	FIELD(OTTL_RESOURCE, "schema_url", TYPE_STRING, resource_schema_url, "its schema"),
	FIELD(OTTL_RESOURCE, "dropped_attributes_count", TYPE_INT, resource_dropped,
	      "how many attributes were lost before"),
	ATTRS(OTTL_SCOPE, scope_attrs, "attributes of who measured"),
	FIELD(OTTL_SCOPE, "name", TYPE_STRING, scope_name, "who measured"),
	FIELD(OTTL_SCOPE, "version", TYPE_STRING, scope_version, "and its version"),
	FIELD(OTTL_SCOPE, "schema_url", TYPE_STRING, scope_schema_url, "its schema"),
	FIELD(OTTL_SCOPE, "dropped_attributes_count", TYPE_INT, scope_dropped, "how many attributes were lost before"),
	ATTRS(OTTL_PROFILE, set_attrs, "attributes of the profile"),
	FIELD(OTTL_PROFILE, "sample_type.type", TYPE_STRING, sample_type_type, "what its samples count"),
	FIELD(OTTL_PROFILE, "sample_type.unit", TYPE_STRING, sample_type_unit, "and in which unit"),
	FIELD(OTTL_PROFILE, "period_type.type", TYPE_STRING, period_type_type, "what passes between samples"),
	FIELD(OTTL_PROFILE, "period_type.unit", TYPE_STRING, period_type_unit, "and in which unit"),
	FIELD(OTTL_PROFILE, "period", TYPE_INT, period, "how much of it"),
	{ OTTL_PROFILE, "time", TYPE_TIME, TYPE_TIME, false, time_get, time_unix_nano_set, NULL, "when it began" },
	FIELD(OTTL_PROFILE, "time_unix_nano", TYPE_INT, time_unix_nano, "when it began, in nanoseconds since 1970"),
	FIELD(OTTL_PROFILE, "duration", TYPE_INT, duration, "how long it took, in nanoseconds"),
	FIELD(OTTL_PROFILE, "duration_unix_nano", TYPE_INT, duration, "the same"),
	FIELD(OTTL_PROFILE, "profile_id", TYPE_BYTES, profile_id, "its id, 16 bytes"),
	FIELD(OTTL_PROFILE, "profile_id.string", TYPE_STRING, profile_id_string, "its id in hexadecimal"),
	FIELD(OTTL_PROFILE, "dropped_attributes_count", TYPE_INT, set_dropped, "how many attributes were lost before"),
	FIELD(OTTL_PROFILE, "original_payload_format", TYPE_STRING, original_format, "the format that it came in"),
	FIELD(OTTL_PROFILE, "original_payload", TYPE_BYTES, payload, "the bytes that it came in"),
	FIELD(OTTL_PROFILE, "attribute_indices", TYPE_LIST, set_indices, "its attributes as rows of the table"),
	{ OTTL_PROFILE, "sample", TYPE_SAMPLES, 0, false, samples_get, NULL, NULL,
	  "its samples, to be counted with Len()" },
	ATTRS(OTTL_SAMPLE, sample_attrs, "attributes of the sample"),
	FIELD(OTTL_SAMPLE, "values", TYPE_LIST, values, "its values"),
	FIELD(OTTL_SAMPLE, "timestamps", TYPE_LIST, times, "when it was taken, in nanoseconds since 1970"),
	FIELD(OTTL_SAMPLE, "timestamps_unix_nano", TYPE_LIST, times, "the same"),
	FIELD(OTTL_SAMPLE, "link_index", TYPE_INT, link, "the row of its link to a trace, 0 for none"),
	FIELD(OTTL_SAMPLE, "attribute_indices", TYPE_LIST, sample_indices, "its attributes as rows of the table"),
	{ 0 },
};
