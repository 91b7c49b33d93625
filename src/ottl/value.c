// SPDX-License-Identifier: Apache-2.0
#include "ottl/value.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "base/json_write.h"
#include "profile/any.h"

/* ---- Types --------------------------------------------------------------------- */

u32 value_type(const struct value *value)
{
	switch (value->role) {
	case VALUE_TIME:
		return TYPE_TIME;
	case VALUE_DURATION:
		return TYPE_DURATION;
	case VALUE_SAMPLES:
		return TYPE_SAMPLES;
	case VALUE_PLAIN:
		break;
	}
	return TYPE(value->any.kind);
}

static const char *const type_names[] = {
	"nil", "a string", "a bool", "an int", "a double", "a list", "a map", "bytes", "a time", "a duration",
	"samples",
};

const char *value_type_name(const struct value *value)
{
	return type_names[__builtin_ctz(value_type(value))];
}

void types_name(u32 types, struct buf *out)
{
	u32 count = (u32)__builtin_popcount(types), seen = 0;

	for (u32 i = 0; i < sizeof(type_names) / sizeof(*type_names); i++) {
		if (!(types & 1u << i))
			continue;
		seen++;
		buf_addf(out, "%s%s", seen == 1 ? "" : seen == count ? " or " : ", ", type_names[i]);
	}
}

/* ---- Comparing ------------------------------------------------------------------ */

static bool compare_order(int order, enum compare_op op)
{
	switch (op) {
	case COMPARE_EQ:
		return order == 0;
	case COMPARE_NE:
		return order != 0;
	case COMPARE_LT:
		return order < 0;
	case COMPARE_LE:
		return order <= 0;
	case COMPARE_GE:
		return order >= 0;
	case COMPARE_GT:
		return order > 0;
	}
	return false;
}

/* NaN is neither less nor equal nor greater. */
static bool compare_doubles(double a, double b, enum compare_op op)
{
	switch (op) {
	case COMPARE_EQ:
		return a == b;
	case COMPARE_NE:
		return a != b;
	case COMPARE_LT:
		return a < b;
	case COMPARE_LE:
		return a <= b;
	case COMPARE_GE:
		return a >= b;
	case COMPARE_GT:
		return a > b;
	}
	return false;
}

static int order_of_bytes(struct str a, struct str b)
{
	u32 common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.at, b.at, common) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static bool any_same(const struct any *a, const struct any *b);

/* Larger maps are equal only if they are in the same order: senders must not choose how long we compare. */
#define MAP_SEARCH_MAX 256

static bool maps_same(const struct any *a, const struct any *b)
{
	u32 tries = a->count <= MAP_SEARCH_MAX ? a->count : 1;

	if (a->count != b->count)
		return false;
	for (u32 i = 0; i < a->count; i++) {
		bool found = false;

		/* Equal maps are mostly in equal order. */
		for (u32 n = 0; n < tries && !found; n++) {
			const struct keyvalue *other = &b->map[(i + n) % b->count];

			found = str_equal(a->map[i].key, other->key) && any_same(&a->map[i].value, &other->value);
		}
		if (!found)
			return false;
	}
	return true;
}

static bool any_same(const struct any *a, const struct any *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == ANY_MAP)
		return maps_same(a, b);
	if (a->kind != ANY_ARRAY)
		return any_equal(a, b);
	if (a->count != b->count)
		return false;
	for (u32 i = 0; i < a->count; i++)
		if (!any_same(&a->array[i], &b->array[i]))
			return false;
	return true;
}

static bool is_number(const struct value *value)
{
	return value_type(value) & (TYPE_INT | TYPE_DOUBLE);
}

static double as_double(const struct value *value)
{
	return value->any.kind == ANY_INT ? (double)value->any.integer : value->any.real;
}

bool value_compare(const struct value *a, const struct value *b, enum compare_op op)
{
	u32 type = value_type(a);

	if (is_number(a) && is_number(b) && (a->any.kind == ANY_DOUBLE || b->any.kind == ANY_DOUBLE))
		return compare_doubles(as_double(a), as_double(b), op);
	if (type != value_type(b))
		return op == COMPARE_NE;
	switch (type) {
	case TYPE_NIL:
		return compare_order(0, op);
	case TYPE_BOOL:
		return compare_order(a->any.boolean - b->any.boolean, op);
	case TYPE_INT:
	case TYPE_TIME:
	case TYPE_DURATION:
		return compare_order((a->any.integer > b->any.integer) - (a->any.integer < b->any.integer), op);
	case TYPE_STRING:
	case TYPE_BYTES:
		return compare_order(order_of_bytes(a->any.string, b->any.string), op);
	case TYPE_LIST:
	case TYPE_MAP:
		if (op == COMPARE_EQ || op == COMPARE_NE)
			return any_same(&a->any, &b->any) == (op == COMPARE_EQ);
		return false;
	default:
		return op == COMPARE_NE;
	}
}

/* ---- Text ------------------------------------------------------------------------ */

static void add_hex(struct buf *out, struct str bytes)
{
	for (u32 i = 0; i < bytes.len; i++)
		buf_addf(out, "%02x", (unsigned char)bytes.at[i]);
}

static void add_time(struct buf *out, s64 unix_ns)
{
	s64 ns = unix_ns % 1000000000;
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char fraction[16];
	size_t len;
	struct tm tm;

	if (ns < 0) {
		ns += 1000000000;
		seconds--;
	}
	gmtime_r(&seconds, &tm);
	buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		 tm.tm_min,
		 tm.tm_sec);
	len = (size_t)snprintf(fraction, sizeof(fraction), ".%09lld", (long long)ns);
	while (len && fraction[len - 1] == '0')
		len--;
	buf_add(out, fraction, len > 1 ? len : 0);
	buf_add(out, "Z", 1);
}

static void add_double(struct buf *out, double value)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	size_t quoted;

	buf_init(&text, 64);
	json_put_double(&text, value);
	quoted = text.len > 1 && text.data[0] == '"';	/* "NaN", "Infinity" */
	if (text.len)
		buf_add(out, text.data + quoted, text.len - 2 * quoted);
}

void value_text(const struct value *value, struct buf *out)
{
	const struct any *any = &value->any;

	switch (value_type(value)) {
	case TYPE_STRING:
		buf_add(out, any->string.at, any->string.len);
		break;
	case TYPE_BYTES:
		add_hex(out, any->string);
		break;
	case TYPE_BOOL:
		buf_addf(out, "%s", any->boolean ? "true" : "false");
		break;
	case TYPE_INT:
	case TYPE_DURATION:
		buf_addf(out, "%lld", (long long)any->integer);
		break;
	case TYPE_DOUBLE:
		add_double(out, any->real);
		break;
	case TYPE_TIME:
		add_time(out, any->integer);
		break;
	case TYPE_LIST:
	case TYPE_MAP:
		any_put_json(out, any);
		break;
	default:
		break;
	}
}

/* ---- Depth ----------------------------------------------------------------------- */

bool any_is_deeper(const struct any *value, u32 depth)
{
	if (value->kind != ANY_ARRAY && value->kind != ANY_MAP)
		return false;
	if (!depth)
		return true;
	for (u32 i = 0; i < value->count; i++)
		if (any_is_deeper(value->kind == ANY_MAP ? &value->map[i].value : &value->array[i], depth - 1))
			return true;
	return false;
}

/* ---- Copies ---------------------------------------------------------------------- */

struct str str_copy(struct arena *arena, const char *at, size_t len)
{
	const char *copy = len ? arena_copy(arena, at, len) : NULL;

	return (struct str){ copy, copy ? (u32)len : 0 };
}

struct any any_copy(struct arena *arena, const struct any *value)
{
	struct any copy = *value;

	if (value->kind == ANY_STRING || value->kind == ANY_BYTES) {
		copy.string = str_copy(arena, value->string.at, value->string.len);
	} else if (value->kind == ANY_ARRAY) {
		struct any *array = value->count ? arena_alloc(arena, value->count * sizeof(*array)) : NULL;

		for (u32 i = 0; array && i < value->count; i++)
			array[i] = any_copy(arena, &value->array[i]);
		copy.array = array;
		copy.count = array ? value->count : 0;
	} else if (value->kind == ANY_MAP) {
		struct keyvalue *map = value->count ? arena_alloc(arena, value->count * sizeof(*map)) : NULL;

		for (u32 i = 0; map && i < value->count; i++) {
			map[i].key = str_copy(arena, value->map[i].key.at, value->map[i].key.len);
			map[i].value = any_copy(arena, &value->map[i].value);
		}
		copy.map = map;
		copy.count = map ? value->count : 0;
	}
	return copy;
}

/* ---- Hexadecimal ------------------------------------------------------------------- */

bool hex_decode(struct str digits, char *bytes)
{
	for (u32 i = 0; i < digits.len / 2; i++) {
		int high = hex_digit(digits.at[2 * i]), low = hex_digit(digits.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (char)(high << 4 | low);
	}
	return digits.len % 2 == 0;
}
