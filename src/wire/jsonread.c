// SPDX-License-Identifier: Apache-2.0
#include "wire/jsonread.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/hex.h"

static void misfit(int *err)
{
	if (!*err)
		*err = -EBADMSG;
}

const json_t *jsonread_member(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return value && !json_is_null(value) ? value : NULL;
}

/* Digits, and before them perhaps a minus, which limit allows one more than the largest number. */
static bool parse_number(const char *text, size_t len, u64 limit, bool *ret_minus, u64 *ret_value)
{
	bool minus = len && text[0] == '-';
	u64 value = 0;

	if (len == minus)
		return false;
	for (size_t i = minus; i < len; i++)
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (u64)(text[i] - '0'), &value))
			return false;
	*ret_minus = minus;
	*ret_value = value;
	return value <= limit + (minus && limit < UINT64_MAX);
}

static bool whole(double real, double limit)
{
	return real == floor(real) && fabs(real) <= limit;
}

/* Reals count where they are whole and exact: 1e3. */
#define EXACT_MAX 9007199254740992.0

s64 jsonread_s64(const json_t *value, int *err)
{
	bool minus;
	u64 number;

	if (!value)
		return 0;
	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_string(value) &&
	    parse_number(json_string_value(value), json_string_length(value), INT64_MAX, &minus, &number))
		return (s64)(minus ? -number : number);
	if (json_is_real(value) && whole(json_real_value(value), EXACT_MAX))
		return (s64)json_real_value(value);
	misfit(err);
	return 0;
}

u64 jsonread_u64(const json_t *value, int *err)
{
	bool minus;
	u64 number;

	if (!value)
		return 0;
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return (u64)json_integer_value(value);
	if (json_is_string(value) &&
	    parse_number(json_string_value(value), json_string_length(value), UINT64_MAX, &minus, &number) &&
	    (!minus || !number))
		return number;
	if (json_is_real(value) && json_real_value(value) >= 0 && whole(json_real_value(value), EXACT_MAX))
		return (u64)json_real_value(value);
	misfit(err);
	return 0;
}

u32 jsonread_u32(const json_t *value, int *err)
{
	u64 number = jsonread_u64(value, err);

	if (number <= UINT32_MAX)
		return (u32)number;
	misfit(err);
	return 0;
}

double jsonread_double(const json_t *value, int *err)
{
	struct str text;

	if (!value)
		return 0;
	if (json_is_number(value))
		return json_number_value(value);
	text = jsonread_str(value, err);
	if (text.len == 3 && !memcmp(text.at, "NaN", 3))
		return NAN;
	if (text.len == 8 && !memcmp(text.at, "Infinity", 8))
		return INFINITY;
	if (text.len == 9 && !memcmp(text.at, "-Infinity", 9))
		return -INFINITY;
	misfit(err);
	return 0;
}

struct str jsonread_str(const json_t *value, int *err)
{
	if (!value)
		return (struct str){ 0 };
	if (json_is_string(value) && json_string_length(value) <= UINT32_MAX)
		return (struct str){ json_string_value(value), (u32)json_string_length(value) };
	misfit(err);
	return (struct str){ 0 };
}

bool jsonread_hex(const json_t *value, u8 *id, size_t len, int *err)
{
	struct str text = jsonread_str(value, err);

	if (!text.len)
		return false;
	if (text.len != 2 * len) {
		misfit(err);
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0) {
			misfit(err);
			return false;
		}
		id[i] = (u8)(high << 4 | low);
	}
	return true;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

struct str jsonread_base64(const json_t *value, struct profile *profile, int *err)
{
	struct str text = jsonread_str(value, err);
	char *out = profile_alloc(profile, (size_t)text.len / 4 * 3 + 3);
	u32 len = 0, bits = 0, word = 0;

	if (!out) {
		*err = *err ? *err : profile_err(profile);
		return (struct str){ 0 };
	}
	while (text.len && text.at[text.len - 1] == '=')
		text.len--;
	for (u32 i = 0; i < text.len; i++) {
		int digit = base64_digit(text.at[i]);

		if (digit < 0) {
			misfit(err);
			return (struct str){ 0 };
		}
		word = word << 6 | (u32)digit;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[len++] = (char)(word >> bits);
		}
	}
	/* One digit alone holds no byte. */
	if (text.len % 4 == 1)
		misfit(err);
	return (struct str){ out, len };
}

size_t jsonread_count(const json_t *list, int *err)
{
	if (!list)
		return 0;
	if (json_is_array(list))
		return json_array_size(list);
	misfit(err);
	return 0;
}

void jsonread_fields(const json_t *object, const struct jsonread_field *fields, size_t count, void *row, int *err)
{
	for (size_t i = 0; i < count; i++) {
		const json_t *value = jsonread_member(object, fields[i].key);
		void *at = (char *)row + fields[i].offset;
		u64 number;

		if (!value)
			continue;
		if (fields[i].bytes == sizeof(u32))
			*(u32 *)at = jsonread_u32(value, err);
		else {
			number = fields[i].is_signed ? (u64)jsonread_s64(value, err) : jsonread_u64(value, err);
			*(u64 *)at = number;
		}
	}
}
