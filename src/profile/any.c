// SPDX-License-Identifier: Apache-2.0
#include "profile/any.h"

#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "profile/table.h"

bool keyvalues_equal(const struct keyvalue *a, u32 a_count, const struct keyvalue *b, u32 b_count)
{
	if (a_count != b_count)
		return false;
	for (u32 i = 0; i < a_count; i++)
		if (!str_equal(a[i].key, b[i].key) || !any_equal(&a[i].value, &b[i].value))
			return false;
	return true;
}

static bool array_equal(const struct any *a, const struct any *b)
{
	if (a->count != b->count)
		return false;
	for (u32 i = 0; i < a->count; i++)
		if (!any_equal(&a->array[i], &b->array[i]))
			return false;
	return true;
}

struct str any_text(const struct any *value)
{
	return value && value->kind == ANY_STRING ? value->string : (struct str){ 0 };
}

bool any_equal(const struct any *a, const struct any *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case ANY_NONE:
		return true;
	case ANY_STRING:
	case ANY_BYTES:
		return str_equal(a->string, b->string);
	case ANY_BOOL:
		return a->boolean == b->boolean;
	case ANY_INT:
		return a->integer == b->integer;
	case ANY_DOUBLE:
		return !memcmp(&a->real, &b->real, sizeof(a->real));
	case ANY_ARRAY:
		return array_equal(a, b);
	case ANY_MAP:
		return keyvalues_equal(a->map, a->count, b->map, b->count);
	}
	return false;
}

u64 keyvalues_hash(const struct keyvalue *at, u32 count, u64 seed)
{
	u64 hash = hash_mix(seed, count);

	for (u32 i = 0; i < count; i++)
		hash = any_hash(&at[i].value, hash_bytes(hash, at[i].key.at, at[i].key.len));
	return hash;
}

u64 any_hash(const struct any *value, u64 seed)
{
	u64 hash = hash_mix(seed, value->kind), bits;

	switch (value->kind) {
	case ANY_NONE:
		break;
	case ANY_STRING:
	case ANY_BYTES:
		return hash_bytes(hash, value->string.at, value->string.len);
	case ANY_BOOL:
		return hash_mix(hash, value->boolean);
	case ANY_INT:
		return hash_mix(hash, value->integer);
	case ANY_DOUBLE:
		memcpy(&bits, &value->real, sizeof(bits));
		return hash_mix(hash, bits);
	case ANY_ARRAY:
		hash = hash_mix(hash, value->count);
		for (u32 i = 0; i < value->count; i++)
			hash = any_hash(&value->array[i], hash);
		break;
	case ANY_MAP:
		return keyvalues_hash(value->map, value->count, hash);
	}
	return hash;
}

static void put_list(struct buf *b, const struct any *value)
{
	bool map = value->kind == ANY_MAP;

	buf_add(b, map ? "{" : "[", 1);
	for (u32 i = 0; i < value->count; i++) {
		if (i)
			buf_add(b, ",", 1);
		if (map) {
			json_put_string(b, value->map[i].key.at, value->map[i].key.len);
			buf_add(b, ":", 1);
		}
		any_put_json(b, map ? &value->map[i].value : &value->array[i]);
	}
	buf_add(b, map ? "}" : "]", 1);
}

void any_put_json(struct buf *b, const struct any *value)
{
	switch (value->kind) {
	case ANY_NONE:
		buf_add(b, "null", 4);
		break;
	case ANY_STRING:
		json_put_string(b, value->string.at, value->string.len);
		break;
	case ANY_BOOL:
		buf_addf(b, "%s", value->boolean ? "true" : "false");
		break;
	case ANY_INT:
		buf_addf(b, "%lld", value->integer);
		break;
	case ANY_DOUBLE:
		json_put_double(b, value->real);
		break;
	case ANY_BYTES:
		json_put_base64(b, value->string.at, value->string.len);
		break;
	case ANY_ARRAY:
	case ANY_MAP:
		put_list(b, value);
		break;
	}
}
