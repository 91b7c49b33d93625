// SPDX-License-Identifier: Apache-2.0
/* Converters of numbers, lists, maps, times and types: ottl_more_converters at the end is the list. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/json_read.h"
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

static int run_Int(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	char text[NUMBER_TEXT_MAX], *end;
	s64 n;

	switch (value_type(in)) {
	case TYPE_INT:
	case TYPE_DURATION:
		*ret_value = value_int(in->any.integer);
		break;
	case TYPE_BOOL:
		*ret_value = value_int(in->any.boolean);
		break;
	case TYPE_DOUBLE:
		if (in->any.real >= -0x1p63 && in->any.real < 0x1p63)
			*ret_value = value_int((s64)in->any.real);
		break;
	case TYPE_STRING:
		errno = 0;
		if (!number_text(in->any.string, text))
			break;
		n = strtoll(text, &end, 10);
		if (!*end && !errno)
			*ret_value = value_int(n);
	}
	return 0;
}

static int run_Double(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	char text[NUMBER_TEXT_MAX], *end;
	double d;

	switch (value_type(in)) {
	case TYPE_DOUBLE:
		*ret_value = *in;
		break;
	case TYPE_INT:
		*ret_value = value_double((double)in->any.integer);
		break;
	case TYPE_BOOL:
		*ret_value = value_double(in->any.boolean);
		break;
	case TYPE_STRING:
		if (!number_text(in->any.string, text))
			break;
		d = strtod(text, &end);
		if (!*end)
			*ret_value = value_double(d);
	}
	return 0;
}

static int run_Bool(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	static const char *const words[2][6] = { { "0", "f", "F", "false", "FALSE", "False" },
						 { "1", "t", "T", "true", "TRUE", "True" } };

	if (value_type(in) == TYPE_BOOL)
		*ret_value = *in;
	else if (value_type(in) == TYPE_INT)
		*ret_value = value_bool(in->any.integer != 0);
	else if (value_type(in) == TYPE_DOUBLE)
		*ret_value = value_bool(in->any.real != 0);
	for (u32 i = 0; value_type(in) == TYPE_STRING && i < 12; i++)
		if (str_equal(in->any.string, (struct str){ words[i / 6][i % 6], (u32)strlen(words[i / 6][i % 6]) }))
			*ret_value = value_bool(i / 6);
	return 0;
}

/* ---- Types ----------------------------------------------------------------------------------------- */

static int run_is_type(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	*ret_value = value_bool(value_type(in) == call->ops->detail);
	return 0;
}

static int run_IsEmpty(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	const struct any *any = &in->any;
	bool empty = false;

	switch (any->kind) {
	case ANY_NONE:
		empty = true;
		break;
	case ANY_STRING:
	case ANY_BYTES:
		empty = !any->string.len;
		break;
	case ANY_ARRAY:
	case ANY_MAP:
		empty = !any->count;
		break;
	case ANY_BOOL:
		empty = !any->boolean;
		break;
	case ANY_INT:
		empty = !any->integer;
		break;
	case ANY_DOUBLE:
		empty = any->real == 0;
		break;
	}
	*ret_value = value_bool(empty);
	return 0;
}

/* ---- Lists and maps ---------------------------------------------------------------------------------- */

static int run_Len(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	if (value_type(in) & (TYPE_STRING | TYPE_BYTES))
		*ret_value = value_int(in->any.string.len);
	else if (value_type(in) & (TYPE_LIST | TYPE_MAP | TYPE_SAMPLES))
		*ret_value = value_int(in->any.count);
	else
		return run_fail(run, -EINVAL, "Len() of %s", value_type_name(in));
	return 0;
}

static int run_Coalesce(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	for (u32 i = 0; value_type(in) == TYPE_LIST && i < in->any.count; i++)
		if (in->any.array[i].kind != ANY_NONE) {
			*ret_value = (struct value){ .any = in->any.array[i] };
			break;
		}
	return 0;
}

/* With a detail its values. */
static int run_keys(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	const struct any *map = &in->any;
	struct any *array = run_alloc(run, map->count * sizeof(*array));

	if (!array)
		return run_err(run);
	for (u32 i = 0; i < map->count; i++)
		array[i] = call->ops->detail ? map->map[i].value : value_string(map->map[i].key).any;
	*ret_value = (struct value){ .any = { ANY_ARRAY, map->count, .array = array } };
	return 0;
}

static s64 index_of(const struct any *list, const struct value *wanted)
{
	for (u32 i = 0; i < list->count; i++)
		if (value_compare(&(struct value){ .any = list->array[i] }, wanted, COMPARE_EQ))
			return i;
	return -1;
}

static int run_Index(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	struct str text = in[0].any.string, part = in[1].any.string;
	const char *found;

	if (value_type(in) == TYPE_LIST) {
		*ret_value = value_int(index_of(&in->any, &in[1]));
		return 0;
	}
	if (value_type(in) != TYPE_STRING || value_type(&in[1]) != TYPE_STRING)
		return run_fail(run, -EINVAL, "Index() of %s in %s", value_type_name(&in[1]), value_type_name(in));
	found = memmem(text.at, text.len, part.at, part.len);
	*ret_value = value_int(found ? found - text.at : -1);
	return 0;
}

static int run_ContainsValue(struct ottl_run *run, const struct call *call, const struct value *in,
			     struct value *ret_value)
{
	if (value_type(in) != TYPE_LIST)
		return run_fail(run, -EINVAL, "target of ContainsValue() is %s, not a list", value_type_name(in));
	*ret_value = value_bool(index_of(&in->any, &in[1]) >= 0);
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

/* Members of all lists and maps that are open, the innermost last. */
struct json_values {
	struct ottl_run *run;
	struct json_read json;
	struct keyvalue *at;
	u32 count, cap;
};

static void json_values_done(struct json_values *v)
{
	json_read_done(&v->json);
	free(v->at);
}

static int read_json(struct json_values *v, u32 depth, struct any *ret_any);

/* Of equal keys the last counts, in the place of the first: found by a sorted list of numbers. */
static int by_key(const void *a, const void *b, void *arg)
{
	const struct keyvalue *x = &((const struct keyvalue *)arg)[*(const u32 *)a];
	const struct keyvalue *y = &((const struct keyvalue *)arg)[*(const u32 *)b];
	u32 common = x->key.len < y->key.len ? x->key.len : y->key.len;
	int order = common ? memcmp(x->key.at, y->key.at, common) : 0;

	if (!order)
		order = (x->key.len > y->key.len) - (x->key.len < y->key.len);
	return order ? order : (x > y) - (x < y);
}

static int join_equal_keys(struct ottl_run *run, struct keyvalue *map, u32 *count)
{
	u32 *order = run_alloc(run, *count * sizeof(*order)), kept = 0;
	bool *gone = run_alloc(run, *count);

	if (!order || !gone)
		return run_err(run);
	for (u32 i = 0; i < *count; i++) {
		order[i] = i;
		gone[i] = false;
	}
	qsort_r(order, *count, sizeof(*order), by_key, map);
	for (u32 i = 1, first = 0; i < *count; i++) {
		gone[order[i]] = str_equal(map[order[first]].key, map[order[i]].key);
		if (gone[order[i]])
			map[order[first]].value = map[order[i]].value;
		else
			first = i;
	}
	for (u32 i = 0; i < *count; i++)
		if (!gone[i])
			map[kept++] = map[i];
	*count = kept;
	return 0;
}

static int read_members(struct json_values *v, bool is_map, u32 depth)
{
	struct str key = { 0 };

	while (is_map ? json_read_any_member(&v->json, &key) : json_read_item(&v->json)) {
		struct keyvalue member = { .key = str_copy(&v->run->scratch, key.at, key.len) };
		int r = read_json(v, depth + 1, &member.value);

		if (r >= 0)
			r = array_reserve(&v->at, &v->cap, v->count + 1, sizeof(*v->at));
		if (r < 0)
			return r;
		v->at[v->count++] = member;
	}
	return run_err(v->run);
}

static int read_json_list(struct json_values *v, u32 depth, struct any *ret_any)
{
	bool is_map = json_read_peek(&v->json) == '{';
	u32 before = v->count, count;
	struct any *array = NULL;
	struct keyvalue *map;
	int r;

	if (is_map)
		json_read_object(&v->json);
	else
		json_read_list(&v->json);
	r = read_members(v, is_map, depth);
	count = v->count - before;
	v->count = before;
	if (r < 0)
		return r;
	if (is_map) {
		map = run_alloc(v->run, count * sizeof(*map));
		if (!map)
			return run_err(v->run);
		if (count)
			memcpy(map, &v->at[before], count * sizeof(*map));
		r = join_equal_keys(v->run, map, &count);
		*ret_any = (struct any){ ANY_MAP, count, .map = map };
		return r;
	}
	array = run_alloc(v->run, count * sizeof(*array));
	for (u32 i = 0; array && i < count; i++)
		array[i] = v->at[before + i].value;
	*ret_any = (struct any){ ANY_ARRAY, count, .array = array };
	return array ? 0 : run_err(v->run);
}

/* Every number is a double, as in the reference. */
static int read_json(struct json_values *v, u32 depth, struct any *ret_any)
{
	struct json_read *j = &v->json;
	struct str text;

	if (depth > ANY_DEPTH_MAX - 4)
		return run_fail(v->run, -E2BIG, "ParseJSON(): the text is nested too deeply");
	*ret_any = (struct any){ 0 };
	switch (json_read_peek(j)) {
	case '{':
	case '[':
		return read_json_list(v, depth, ret_any);
	case '"':
		text = json_read_string(j);
		*ret_any = value_string(str_copy(&v->run->scratch, text.at, text.len)).any;
		break;
	case 't':
	case 'f':
		*ret_any = value_bool(json_read_bool(j)).any;
		break;
	case 'n':
		json_read_skip(j);
		break;
	default:
		*ret_any = value_double(json_read_double(j)).any;
		if (isinf(ret_any->real))
			json_read_fail(j, -EBADMSG);
	}
	return run_err(v->run);
}

static int run_ParseJSON(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	_cleanup_(json_values_done) struct json_values v = { .run = run };
	struct str text = in[0].any.string;
	int r;

	if (text.len > OTTL_SCRATCH_BYTES / 8)
		return run_fail(run, -E2BIG, "ParseJSON(): the text is too long");
	json_read_init(&v.json, text.at, text.len);
	r = read_json(&v, 0, &ret_value->any);
	if (r < 0)
		return r;
	r = json_read_end(&v.json);
	if (r == -EBADMSG)
		return run_fail(run, r, "ParseJSON(): this is no JSON, at character %zu", json_read_offset(&v.json));
	return r < 0 ? run_fail(run, r, "out of memory") : 0;
}

/* ---- Times and ids --------------------------------------------------------------------------------------- */

static int run_Now(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	*ret_value = (struct value){ .any = value_int((s64)clock_ns(CLOCK_REALTIME)).any, .role = VALUE_TIME };
	return 0;
}

/* In units of so many nanoseconds. */
static int run_time_in(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	if (in->role != VALUE_TIME)
		return run_fail(run, -EINVAL, "%s() of %s", call->ops->name, value_type_name(in));
	*ret_value = value_int(in->any.integer / call->ops->detail);
	return 0;
}

static int run_Unix(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	s64 seconds = in[0].any.integer, ns = call->arguments[1] ? in[1].any.integer : 0;

	if (seconds > INT64_MAX / 1000000000 - 1 || seconds < INT64_MIN / 1000000000 + 1 || ns < 0 || ns > 999999999)
		return run_fail(run, -ERANGE, "Unix() is out of range");
	*ret_value = (struct value){ .any = value_int(seconds * 1000000000 + ns).any, .role = VALUE_TIME };
	return 0;
}

static int run_Duration(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
	char text[NUMBER_TEXT_MAX], *at = text;
	double total = 0;

	if (!number_text(in->any.string, text))
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

static int run_ProfileID(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	char *id;

	if (value_type(in) == TYPE_BYTES && in->any.string.len == 16) {
		*ret_value = *in;
		return 0;
	}
	if (value_type(in) != TYPE_STRING || in->any.string.len != 32)
		return run_fail(run, -EINVAL, "ProfileID() takes 16 bytes, or 32 hexadecimal digits");
	id = run_alloc(run, 16);
	if (!id)
		return run_err(run);
	if (!hex_decode(in->any.string, id))
		return run_fail(run, -EINVAL, "ProfileID() takes 16 bytes, or 32 hexadecimal digits");
	*ret_value = (struct value){ .any = { .kind = ANY_BYTES, .string = { id, 16 } } };
	return 0;
}

/* ---- The list ---------------------------------------------------------------------------------------------- */

#define VALUE(name) { name, TYPE_VALUE, PARAMETER_VALUE, false }
#define TIME(name, text, unit_ns) { name, TYPE_INT, { { "value", TYPE_TIME, PARAMETER_VALUE, false } }, run_time_in, \
				    .help = text, .detail = unit_ns }
#define IS(name, text, type) { name, TYPE_BOOL, { VALUE("value") }, run_is_type, .help = text, .detail = type }

const struct function_ops ottl_more_converters[] = {
	{ "Bool", TYPE_BOOL | TYPE_NIL, { VALUE("value") }, run_Bool, .help = "as a bool; nil if it is none" },
	{ "Coalesce", TYPE_ANY, { { "values", TYPE_LIST | TYPE_NIL, PARAMETER_VALUE, false } }, run_Coalesce,
	  .help = "the first member that is not nil" },
	{ "ContainsValue", TYPE_BOOL, { VALUE("target"), VALUE("item") }, run_ContainsValue,
	  .help = "the list has it" },
	{ "Double", TYPE_DOUBLE | TYPE_NIL, { VALUE("value") }, run_Double, .help = "as a double; nil if it is none" },
	{ "Duration", TYPE_DURATION, { { "duration", TYPE_STRING, PARAMETER_VALUE, false } }, run_Duration,
	  .help = "of a text such as 1m30s" },
	{ "Index", TYPE_INT, { VALUE("target"), VALUE("value") }, run_Index,
	  .help = "where it is; -1 if it is not there" },
	{ "Int", TYPE_INT | TYPE_NIL, { VALUE("value") }, run_Int, .help = "as a whole number; nil if it is none" },
	IS("IsBool", "is a bool", TYPE_BOOL),
	IS("IsDouble", "is a double", TYPE_DOUBLE),
	{ "IsEmpty", TYPE_BOOL, { VALUE("value") }, run_IsEmpty, .help = "is nil, zero, or has nothing in it" },
	IS("IsInt", "is a whole number", TYPE_INT),
	IS("IsList", "is a list", TYPE_LIST),
	IS("IsMap", "is a map", TYPE_MAP),
	IS("IsString", "is a string", TYPE_STRING),
	{ "Keys", TYPE_LIST, { { "target", TYPE_MAP, PARAMETER_VALUE, false } }, run_keys,
	  .help = "the keys of a map" },
	{ "Len", TYPE_INT, { { "target", TYPE_ANY | TYPE_SAMPLES, PARAMETER_VALUE, false } }, run_Len,
	  .help = "of a string in bytes, of a list or a map in members" },
	{ "Now", TYPE_TIME, { { 0 } }, run_Now, .help = "the time" },
	{ "ParseJSON", TYPE_ANY, { { "target", TYPE_STRING, PARAMETER_VALUE, false } }, run_ParseJSON,
	  .help = "what a text of JSON says" },
	{ "ProfileID", TYPE_BYTES, { { "id", TYPE_BYTES | TYPE_STRING, PARAMETER_VALUE, false } }, run_ProfileID,
	  .help = "an id of 16 bytes" },
	{ "Unix", TYPE_TIME, { { "seconds", TYPE_INT, PARAMETER_VALUE, false },
	  { "nanoseconds", TYPE_INT, PARAMETER_VALUE, true } }, run_Unix, .help = "a time by seconds since 1970" },
	TIME("UnixMicro", "microseconds since 1970", 1000),
	TIME("UnixMilli", "milliseconds since 1970", 1000000),
	TIME("UnixNano", "nanoseconds since 1970", 1),
	TIME("UnixSeconds", "seconds since 1970", 1000000000),
	{ "Values", TYPE_LIST, { { "target", TYPE_MAP, PARAMETER_VALUE, false } }, run_keys,
	  .help = "the values of a map", .detail = true },
	{ 0 },
};
