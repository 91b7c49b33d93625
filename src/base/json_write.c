// SPDX-License-Identifier: Apache-2.0
#include "base/json_write.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static void put_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

/* What may stand in quotes as it is. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_escape(struct buf *b, unsigned char c)
{
	switch (c) {
	case '"':
		put_text(b, "\\\"");
		break;
	case '\\':
		put_text(b, "\\\\");
		break;
	case '\n':
		put_text(b, "\\n");
		break;
	case '\t':
		put_text(b, "\\t");
		break;
	default:
		buf_addf(b, "\\u%04x", c);
	}
}

/*
 * Characters of several bytes that JSON takes as they are but YAML, in which JSON is printed too, refuses (U+0080 to
 * U+009F, U+FFFE, U+FFFF) or takes for ends of lines or marks (U+2028, U+2029, U+FEFF). 0 if it is none of them.
 */
static unsigned int unsafe_character(const char *at, size_t step)
{
	const unsigned char *c = (const unsigned char *)at;
	unsigned int code;

	if (step == 2)
		return c[0] == 0xc2 && c[1] < 0xa0 ? c[1] : 0;
	if (step != 3 || (c[0] != 0xe2 && c[0] != 0xef))
		return 0;
	code = (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
	return code == 0x2028 || code == 0x2029 || code == 0xfeff || code >= 0xfffe ? code : 0;
}

static void put_long(struct buf *b, const char *at, size_t step)
{
	unsigned int code = unsafe_character(at, step);

	if (code)
		buf_addf(b, "\\u%04x", code);
	else
		buf_add(b, at, step);
}

/* How many of them may; a word at a time while all of it may, as nearly all do. */
static size_t plain_bytes(const char *at, size_t len)
{
	const u64 ones = 0x0101010101010101;
	size_t i = 0;
	u64 word;

	for (; len - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		/* The high bit of a byte: it is past 0x7e, below 0x20, '"' or '\\'. */
		if ((word | (word + ones) | (word - 0x20 * ones) | ((word ^ '"' * ones) - ones) |
		     ((word ^ '\\' * ones) - ones)) & 0x80 * ones)
			break;
	}
	while (i < len && is_plain(at[i]))
		i++;
	return i;
}

void json_put_string(struct buf *b, const char *at, size_t len)
{
	size_t i = 0;

	put_text(b, "\"");
	while (i < len) {
		size_t run = plain_bytes(at + i, len - i), step;

		buf_add(b, at + i, run);
		i += run;
		if (i == len)
			break;
		step = utf8_next(at + i, len - i);
		if (step > 1)
			put_long(b, at + i, step);
		else if (step == 1)
			put_escape(b, at[i]);
		else
			put_text(b, UTF8_REPLACEMENT);
		i += step ? step : 1;
	}
	put_text(b, "\"");
}

void json_put_base64(struct buf *b, const void *at, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = at;

	put_text(b, "\"");
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned int word = (unsigned int)in[i] << 16 | (left > 1 ? in[i + 1] << 8 : 0) |
				    (left > 2 ? in[i + 2] : 0);
		char out[4] = { digits[word >> 18], digits[word >> 12 & 63], left > 1 ? digits[word >> 6 & 63] : '=',
				left > 2 ? digits[word & 63] : '=' };

		buf_add(b, out, sizeof(out));
	}
	put_text(b, "\"");
}

void json_put_hex(struct buf *b, const void *at, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *in = at;

	put_text(b, "\"");
	for (size_t i = 0; i < len; i++)
		buf_add(b, (char[]){ digits[in[i] >> 4], digits[in[i] & 15] }, 2);
	put_text(b, "\"");
}

void json_put_double(struct buf *b, double value)
{
	char text[32];

	if (isnan(value)) {
		put_text(b, "\"NaN\"");
		return;
	}
	if (isinf(value)) {
		put_text(b, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
		return;
	}
	for (int digits = 15; digits <= 17; digits += 2) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	put_text(b, text);
}

/* ---- With commas ----------------------------------------------------------- */

static void json_write_next(struct json_write *j)
{
	if (j->comma)
		buf_add(j->b, ",", 1);
	j->comma = true;
}

void json_write_open(struct json_write *j, char bracket)
{
	if (buf_reserve(j->b, 2) == 0) {
		j->b->data[j->b->len] = ',';
		j->b->len += j->comma;
		j->b->data[j->b->len++] = bracket;
	}
	j->comma = false;
}

void json_write_close(struct json_write *j, char bracket)
{
	if (buf_reserve(j->b, 1) == 0)
		j->b->data[j->b->len++] = bracket;
	j->comma = true;
}

void json_write_key(struct json_write *j, const char *key)
{
	size_t len = strlen(key);
	char *at;

	if (buf_reserve(j->b, len + sizeof(",\"\":")) == 0) {
		at = j->b->data + j->b->len;
		*at = ',';
		at += j->comma;
		*at = '"';
		memcpy(at + 1, key, len);
		memcpy(at + 1 + len, "\":", 2);
		j->b->len += j->comma + len + 3;
	}
	j->comma = false;
}

void json_write_string(struct json_write *j, const char *at, size_t len)
{
	json_write_next(j);
	json_put_string(j->b, at, len);
}

void json_write_text(struct json_write *j, const char *text)
{
	json_write_string(j, text, strlen(text));
}

void json_write_raw(struct json_write *j, const char *at, size_t len)
{
	json_write_next(j);
	buf_add(j->b, at, len);
}

void json_write_base64(struct json_write *j, const void *at, size_t len)
{
	json_write_next(j);
	json_put_base64(j->b, at, len);
}

void json_write_hex(struct json_write *j, const void *at, size_t len)
{
	json_write_next(j);
	json_put_hex(j->b, at, len);
}

void json_write_double(struct json_write *j, double value)
{
	json_write_next(j);
	json_put_double(j->b, value);
}

void json_write_bool(struct json_write *j, bool value)
{
	json_write_next(j);
	put_text(j->b, value ? "true" : "false");
}

/*
 * Eight digits at once, the first one in the lowest byte:
 *
 *	aaaa.... bbbb....	thousands, two times
 *	aa..aa.. bb..bb..	hundreds: v * 10486 >> 20 is v / 100 up to 9999
 *	a.a.a.a. b.b.b.b.	tens: v * 103 >> 10 is v / 10 up to 99
 *
 * What is high comes first, the rest after it: high | (v - 100 * high) << 16 is (v << 16) - high * ((100 << 16) - 1).
 */
static inline u64 eight_digits(u32 value)
{
	u64 word = ((u64)value << 32) - value / 10000 * ((10000ull << 32) - 1);

	word = (word << 16) - (word * 10486 >> 20 & 0x7f0000007f) * ((100 << 16) - 1);
	return (word << 8) - (word * 103 >> 10 & 0x000f000f000f000f) * ((10 << 8) - 1);
}

static inline char *put_all_eight(char *at, u32 value)
{
	u64 word = htole64(eight_digits(value) | 0x3030303030303030);

	return mempcpy(at, &word, sizeof(word));
}

/* Without zeros in front, and without a branch on how many there are. */
static inline char *put_up_to_eight(char *at, u32 value)
{
	u64 word = eight_digits(value);
	u32 zeros = (u32)__builtin_ctzll(word | 1ull << 56) / 8;

	word = htole64((word | 0x3030303030303030) >> 8 * zeros);
	memcpy(at, &word, sizeof(word));
	return at + 8 - zeros;
}

#define DIGITS_ROOM 32		/* what a number may touch, with a comma, quotes and a sign */
#define EIGHT 100000000u

static char *put_many_digits(char *at, u64 value)
{
	if (value < (u64)EIGHT * EIGHT)
		return put_all_eight(put_up_to_eight(at, (u32)(value / EIGHT)), (u32)(value % EIGHT));
	at = put_up_to_eight(at, (u32)(value / EIGHT / EIGHT));
	return put_all_eight(put_all_eight(at, (u32)(value / EIGHT % EIGHT)), (u32)(value % EIGHT));
}

static inline char *put_digits(char *at, u64 value)
{
	return value < EIGHT ? put_up_to_eight(at, (u32)value) : put_many_digits(at, value);
}

/* In place, and in one step with the comma: numbers are most of a file. quote: '"', or 0 for none. */
static inline void put_number(struct json_write *j, u64 value, bool minus, char quote)
{
	char *at;

	if (buf_reserve(j->b, DIGITS_ROOM) < 0)
		return;
	at = j->b->data + j->b->len;
	*at = ',';
	at += j->comma;
	*at = quote;
	at += quote != 0;
	*at = '-';
	at = put_digits(at + minus, value);
	*at = quote;
	j->b->len = (size_t)(at + (quote != 0) - j->b->data);
	j->comma = true;
}

static inline u64 magnitude(s64 value)
{
	return value < 0 ? -(u64)value : (u64)value;
}

void json_write_u32(struct json_write *j, u32 value)
{
	put_number(j, value, false, 0);
}

void json_write_u32_list(struct json_write *j, const u32 *list, u32 count)
{
	char *at;

	json_write_open(j, '[');
	if (buf_reserve(j->b, count * sizeof("4294967295,") + DIGITS_ROOM) == 0) {
		at = j->b->data + j->b->len;
		for (u32 i = 0; i < count; i++) {
			at = put_digits(at, list[i]);
			*at++ = ',';
		}
		j->b->len = (size_t)(at - (count > 0) - j->b->data);
	}
	json_write_close(j, ']');
}

void json_write_integer(struct json_write *j, s64 value)
{
	put_number(j, magnitude(value), value < 0, 0);
}

void json_write_u64(struct json_write *j, u64 value)
{
	put_number(j, value, false, '"');
}

void json_write_s64(struct json_write *j, s64 value)
{
	put_number(j, magnitude(value), value < 0, '"');
}
