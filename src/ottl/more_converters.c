// SPDX-License-Identifier: Apache-2.0
/* Converters of numbers, lists, maps, times and types: ottl_more_converters at the end is the list. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ottl/expr.h"
#include "profile/any.h"

/* ---- Numbers ------------------------------------------------------------------------------------- */

#define NUMBER_TEXT_MAX 64

/* A copy that ends; false if it is no number's length. */
static bool number_text(struct str in, char out[NUMBER_TEXT_MAX])
{
	if (!in.len || in.len >= NUMBER_TEXT_MAX || memchr(in.at, 0, in.len) || strchr(" \t\n\v\f\r", in.at[0]))
		return false;
	memcpy(out, in.at, in.len);
	out[in.len] = 0;
	return true;
}

static int run_Int(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	char text[NUMBER_TEXT_MAX], *end;
	struct value value;
	int r = argument(run, call, 0, &value);
	s64 n;

	if (r < 0)
		return r;
	switch (value_type(&value)) {
	case TYPE_INT:
		*ret_value = value;
		return 0;
	case TYPE_BOOL:
		*ret_value = value_int(value.any.boolean);
		return 0;
	case TYPE_DURATION:
		*ret_value = value_int(value.any.integer);
		return 0;
	case TYPE_DOUBLE:
		if (value.any.real >= -0x1p63 && value.any.real < 0x1p63)
			*ret_value = value_int((s64)value.any.real);
		return 0;
	case TYPE_STRING:
		errno = 0;
		if (!number_text(value.any.string, text))
			return 0;
		n = strtoll(text, &end, 10);
		if (!*end && !errno)
			*ret_value = value_int(n);
		return 0;
	default:
		return 0;	/* nil */
	}
}

static int run_Double(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	char text[NUMBER_TEXT_MAX], *end;
	struct value value;
	int r = argument(run, call, 0, &value);
	double d;

	if (r < 0)
		return r;
	switch (value_type(&value)) {
	case TYPE_DOUBLE:
		*ret_value = value;
		return 0;
	case TYPE_INT:
		*ret_value = value_double((double)value.any.integer);
		return 0;
	case TYPE_BOOL:
		*ret_value = value_double(value.any.boolean);
		return 0;
	case TYPE_STRING:
		if (!number_text(value.any.string, text))
			return 0;
		d = strtod(text, &end);
		if (!*end)
			*ret_value = value_double(d);
		return 0;
	default:
		return 0;
	}
}

static int run_Bool(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	static const char *const words[2][6] = { { "0", "f", "F", "false", "FALSE", "False" },
						 { "1", "t", "T", "true", "TRUE", "True" } };
	struct value value;
	int r = argument(run, call, 0, &value);

	if (r < 0)
		return r;
	if (value_type(&value) == TYPE_BOOL)
		*ret_value = value;
	else if (value_type(&value) == TYPE_INT)
		*ret_value = value_bool(value.any.integer != 0);
	else if (value_type(&value) == TYPE_DOUBLE)
		*ret_value = value_bool(value.any.real != 0);
	for (u32 i = 0; value_type(&value) == TYPE_STRING && i < 12; i++)
		if (str_equal(value.any.string, (struct str){ words[i / 6][i % 6], (u32)strlen(words[i / 6][i % 6]) }))
			*ret_value = value_bool(i / 6);
	return 0;
}

/* ---- Types ----------------------------------------------------------------------------------------- */

#define IS(name, type)											\
	static int run_##name(struct ottl_run *run, const struct call *call, struct value *ret_value)	\
	{												\
		struct value value;									\
		int r = argument(run, call, 0, &value);							\
													\
		if (r >= 0)										\
			*ret_value = value_bool(value_type(&value) == (type));				\
		return r;										\
	}
IS(IsString, TYPE_STRING)
IS(IsBool, TYPE_BOOL)
IS(IsInt, TYPE_INT)
IS(IsDouble, TYPE_DOUBLE)
IS(IsMap, TYPE_MAP)
IS(IsList, TYPE_LIST)
#undef IS

static int run_IsEmpty(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value v;
	int r = argument(run, call, 0, &v);
	bool empty = false;

	if (r < 0)
		return r;
	switch (v.any.kind) {
	case ANY_NONE:
		empty = true;
		break;
	case ANY_STRING:
	case ANY_BYTES:
		empty = !v.any.string.len;
		break;
	case ANY_ARRAY:
	case ANY_MAP:
		empty = !v.any.count;
		break;
	case ANY_BOOL:
		empty = !v.any.boolean;
		break;
	case ANY_INT:
		empty = !v.any.integer;
		break;
	case ANY_DOUBLE:
		empty = v.any.real == 0;
		break;
	}
	*ret_value = value_bool(empty);
	return 0;
}

/* ---- Lists and maps ---------------------------------------------------------------------------------- */

static int run_Len(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value value;
	int r = argument(run, call, 0, &value);

	if (r < 0)
		return r;
	if (value_type(&value) & (TYPE_STRING | TYPE_BYTES))
		*ret_value = value_int(value.any.string.len);
	else if (value_type(&value) & (TYPE_LIST | TYPE_MAP | TYPE_SAMPLES))
		*ret_value = value_int(value.any.count);
	else
		return run_fail(run, -EINVAL, "Len() of %s", value_type_name(&value));
	return 0;
}

static int run_Coalesce(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value list;
	int r = argument(run, call, 0, &list);

	if (r < 0)
		return r;
	for (u32 i = 0; value_type(&list) == TYPE_LIST && i < list.any.count; i++)
		if (list.any.array[i].kind != ANY_NONE) {
			*ret_value = (struct value){ .any = list.any.array[i] };
			return 0;
		}
	return 0;
}

static int keys_or_values(struct ottl_run *run, const struct call *call, bool keys, struct value *ret_value)
{
	struct any map, *array;
	int r = argument_map(run, call, 0, &map);

	if (r < 0)
		return r;
	array = run_alloc(run, map.count * sizeof(*array));
	if (!array)
		return run_err(run);
	for (u32 i = 0; i < map.count; i++)
		array[i] = keys ? value_string(map.map[i].key).any : map.map[i].value;
	*ret_value = (struct value){ .any = { ANY_ARRAY, map.count, .array = array } };
	return 0;
}

static int run_Keys(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return keys_or_values(run, call, true, ret_value);
}

static int run_Values(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return keys_or_values(run, call, false, ret_value);
}

static s64 index_of(const struct any *list, const struct value *wanted)
{
	for (u32 i = 0; i < list->count; i++)
		if (value_compare(&(struct value){ .any = list->array[i] }, wanted, COMPARE_EQ))
			return i;
	return -1;
}

static int run_Index(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value in, wanted;
	const char *found;
	int r = argument(run, call, 0, &in);

	if (r >= 0)
		r = argument(run, call, 1, &wanted);
	if (r < 0)
		return r;
	if (value_type(&in) == TYPE_LIST) {
		*ret_value = value_int(index_of(&in.any, &wanted));
		return 0;
	}
	if (value_type(&in) != TYPE_STRING || value_type(&wanted) != TYPE_STRING)
		return run_fail(run, -EINVAL, "Index() of %s in %s", value_type_name(&wanted), value_type_name(&in));
	found = memmem(in.any.string.at, in.any.string.len, wanted.any.string.at, wanted.any.string.len);
	*ret_value = value_int(found ? found - in.any.string.at : -1);
	return 0;
}

static int run_ContainsValue(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value in, wanted;
	int r = argument(run, call, 0, &in);

	if (r >= 0)
		r = argument(run, call, 1, &wanted);
	if (r < 0)
		return r;
	if (value_type(&in) != TYPE_LIST)
		return run_fail(run, -EINVAL, "target of ContainsValue() is %s, not a list", value_type_name(&in));
	*ret_value = value_bool(index_of(&in.any, &wanted) >= 0);
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

static int any_of_json(struct ottl_run *run, const json_t *json, u32 depth, struct any *ret_any);

static int any_of_array(struct ottl_run *run, const json_t *json, u32 depth, struct any *ret_any)
{
	u32 count = (u32)json_array_size(json);
	struct any *array = run_alloc(run, count * sizeof(*array));

	if (!array)
		return run_err(run);
	for (u32 i = 0; i < count; i++) {
		int r = any_of_json(run, json_array_get(json, i), depth + 1, &array[i]);

		if (r < 0)
			return r;
	}
	*ret_any = (struct any){ ANY_ARRAY, count, .array = array };
	return 0;
}

static int any_of_object(struct ottl_run *run, const json_t *json, u32 depth, struct any *ret_any)
{
	u32 count = (u32)json_object_size(json), i = 0;
	struct keyvalue *map = run_alloc(run, count * sizeof(*map));
	json_t *object = (json_t *)json;	/* jansson's iterators are not const */

	if (!map)
		return run_err(run);
	for (void *at = json_object_iter(object); at && i < count; at = json_object_iter_next(object, at), i++) {
		const char *key = json_object_iter_key(at);
		int r = any_of_json(run, json_object_iter_value(at), depth + 1, &map[i].value);

		if (r < 0)
			return r;
		map[i].key = str_copy(&run->scratch, key, strlen(key));
	}
	*ret_any = (struct any){ ANY_MAP, i, .map = map };
	return run_err(run);
}

/* Every number is a double, as in the reference. */
static int any_of_json(struct ottl_run *run, const json_t *json, u32 depth, struct any *ret_any)
{
	if (depth > ANY_DEPTH_MAX - 4)
		return run_fail(run, -E2BIG, "ParseJSON(): the text is nested too deeply");
	if (json_is_array(json))
		return any_of_array(run, json, depth, ret_any);
	if (json_is_object(json))
		return any_of_object(run, json, depth, ret_any);
	*ret_any = (struct any){ 0 };
	if (json_is_string(json))
		*ret_any = value_string(str_copy(&run->scratch, json_string_value(json), json_string_length(json))).any;
	else if (json_is_boolean(json))
		*ret_any = value_bool(json_is_true(json)).any;
	else if (json_is_number(json))
		*ret_any = value_double(json_number_value(json)).any;
	return run_err(run);
}

static int run_ParseJSON(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	json_error_t error;
	struct str text;
	json_t *json;
	int r = argument_string(run, call, 0, &text);

	if (r < 0)
		return r;
	if (text.len > OTTL_SCRATCH_BYTES / 8)
		return run_fail(run, -E2BIG, "ParseJSON(): the text is too long");
	json = json_loadb(text.len ? text.at : "", text.len, JSON_DECODE_ANY, &error);
	if (!json)
		return run_fail(run, -EBADMSG, "ParseJSON(): %s at character %d", error.text, error.position);
	*ret_value = (struct value){ 0 };
	r = any_of_json(run, json, 0, &ret_value->any);
	json_decref(json);
	return r;
}

/* ---- Times and ids --------------------------------------------------------------------------------------- */

static int run_Now(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	*ret_value = (struct value){ .any = value_int((s64)clock_ns(CLOCK_REALTIME)).any, .role = VALUE_TIME };
	return 0;
}

static int time_in(struct ottl_run *run, const struct call *call, s64 unit_ns, struct value *ret_value)
{
	struct value value;
	int r = argument(run, call, 0, &value);

	if (r < 0)
		return r;
	if (value.role != VALUE_TIME)
		return run_fail(run, -EINVAL, "%s() of %s", call->ops->name, value_type_name(&value));
	*ret_value = value_int(value.any.integer / unit_ns);
	return 0;
}

static int run_UnixNano(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return time_in(run, call, 1, ret_value);
}

static int run_UnixMicro(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return time_in(run, call, 1000, ret_value);
}

static int run_UnixMilli(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return time_in(run, call, 1000000, ret_value);
}

static int run_UnixSeconds(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return time_in(run, call, 1000000000, ret_value);
}

static int run_Unix(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	s64 seconds, ns = 0;
	int r = argument_int(run, call, 0, &seconds);

	if (r >= 0 && call->arguments[1])
		r = argument_int(run, call, 1, &ns);
	if (r < 0)
		return r;
	if (seconds > INT64_MAX / 1000000000 - 1 || seconds < INT64_MIN / 1000000000 + 1 || ns < 0 || ns > 999999999)
		return run_fail(run, -ERANGE, "Unix() is out of range");
	*ret_value = (struct value){ .any = value_int(seconds * 1000000000 + ns).any, .role = VALUE_TIME };
	return 0;
}

static int run_Duration(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
	char text[NUMBER_TEXT_MAX], *at = text;
	struct str in;
	double total = 0;
	int r = argument_string(run, call, 0, &in);

	if (r < 0)
		return r;
	if (!number_text(in, text))
		return run_fail(run, -EINVAL, "Duration(): not a duration, such as \"1m30s\"");
	while (*at) {
		char *end;
		double n = strtod(at, &end);
		size_t len = strspn(end, "nsumh");
		double ns = 0;

		for (u32 i = 0; i < sizeof(units) / sizeof(*units); i++)
			if (strlen(units[i].name) == len && !memcmp(units[i].name, end, len))
				ns = units[i].ns;
		if (end == at || ns == 0 || !isfinite(n))
			return run_fail(run, -EINVAL, "Duration(): not a duration, such as \"1m30s\"");
		total += n * ns;
		at = end + len;
	}
	if (total >= 0x1p63 || total <= -0x1p63)
		return run_fail(run, -ERANGE, "Duration() is out of range");
	*ret_value = (struct value){ .any = value_int((s64)total).any, .role = VALUE_DURATION };
	return 0;
}

static int run_ProfileID(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value value;
	int r = argument(run, call, 0, &value);
	char *id;

	if (r < 0)
		return r;
	if (value_type(&value) == TYPE_BYTES && value.any.string.len == 16) {
		*ret_value = value;
		return 0;
	}
	if (value_type(&value) != TYPE_STRING || value.any.string.len != 32)
		return run_fail(run, -EINVAL, "ProfileID() takes 16 bytes, or 32 hexadecimal digits");
	id = run_alloc(run, 16);
	if (!id)
		return run_err(run);
	if (!hex_decode(value.any.string, id))
		return run_fail(run, -EINVAL, "ProfileID() takes 16 bytes, or 32 hexadecimal digits");
	*ret_value = (struct value){ .any = { .kind = ANY_BYTES, .string = { id, 16 } } };
	return 0;
}

/* ---- The list ---------------------------------------------------------------------------------------------- */

#define VALUE(name) { name, TYPE_VALUE, PARAMETER_VALUE, false }
#define TIME(name, help) { #name, TYPE_INT, { { "value", TYPE_TIME, PARAMETER_VALUE, false } }, run_##name, NULL, help }

const struct function_ops ottl_more_converters[] = {
	{ "Bool", TYPE_BOOL | TYPE_NIL, { VALUE("value") }, run_Bool, NULL, "as a bool; nil if it is none" },
	{ "Coalesce", TYPE_ANY, { { "values", TYPE_LIST, PARAMETER_VALUE, false } }, run_Coalesce, NULL,
	  "the first member that is not nil" },
	{ "ContainsValue", TYPE_BOOL, { VALUE("target"), VALUE("item") }, run_ContainsValue, NULL, "the list has it" },
	{ "Double", TYPE_DOUBLE | TYPE_NIL, { VALUE("value") }, run_Double, NULL, "as a double; nil if it is none" },
	{ "Duration", TYPE_DURATION, { { "duration", TYPE_STRING, PARAMETER_VALUE, false } }, run_Duration, NULL,
	  "of a text such as 1m30s" },
	{ "Index", TYPE_INT, { VALUE("target"), VALUE("value") }, run_Index, NULL,
	  "where it is; -1 if it is not there" },
	{ "Int", TYPE_INT | TYPE_NIL, { VALUE("value") }, run_Int, NULL, "as a whole number; nil if it is none" },
	{ "IsBool", TYPE_BOOL, { VALUE("value") }, run_IsBool, NULL, "is a bool" },
	{ "IsDouble", TYPE_BOOL, { VALUE("value") }, run_IsDouble, NULL, "is a double" },
	{ "IsEmpty", TYPE_BOOL, { VALUE("value") }, run_IsEmpty, NULL, "is nil, zero, or has nothing in it" },
	{ "IsInt", TYPE_BOOL, { VALUE("value") }, run_IsInt, NULL, "is a whole number" },
	{ "IsList", TYPE_BOOL, { VALUE("value") }, run_IsList, NULL, "is a list" },
	{ "IsMap", TYPE_BOOL, { VALUE("value") }, run_IsMap, NULL, "is a map" },
	{ "IsString", TYPE_BOOL, { VALUE("value") }, run_IsString, NULL, "is a string" },
	{ "Keys", TYPE_LIST, { { "target", TYPE_MAP, PARAMETER_VALUE, false } }, run_Keys, NULL, "the keys of a map" },
	{ "Len", TYPE_INT, { { "target", TYPE_ANY | TYPE_SAMPLES, PARAMETER_VALUE, false } }, run_Len, NULL,
	  "of a string in bytes, of a list or a map in members" },
	{ "Now", TYPE_TIME, { { 0 } }, run_Now, NULL, "the time" },
	{ "ParseJSON", TYPE_ANY, { { "target", TYPE_STRING, PARAMETER_VALUE, false } }, run_ParseJSON, NULL,
	  "what a text of JSON says" },
	{ "ProfileID", TYPE_BYTES, { { "id", TYPE_BYTES | TYPE_STRING, PARAMETER_VALUE, false } }, run_ProfileID, NULL,
	  "an id of 16 bytes" },
	{ "Unix", TYPE_TIME, { { "seconds", TYPE_INT, PARAMETER_VALUE, false },
	  { "nanoseconds", TYPE_INT, PARAMETER_VALUE, true } }, run_Unix, NULL, "a time by seconds since 1970" },
	TIME(UnixMicro, "microseconds since 1970"),
	TIME(UnixMilli, "milliseconds since 1970"),
	TIME(UnixNano, "nanoseconds since 1970"),
	TIME(UnixSeconds, "seconds since 1970"),
	{ "Values", TYPE_LIST, { { "target", TYPE_MAP, PARAMETER_VALUE, false } }, run_Values, NULL,
	  "the values of a map" },
	{ 0 },
};
