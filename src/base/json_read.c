// SPDX-License-Identifier: Apache-2.0
#include "base/json_read.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/str.h"
#include "base/utf8.h"

void json_read_init(struct json_read *j, const void *at, size_t bytes)
{
	const char *text = bytes ? at : "";

	*j = (struct json_read){ .start = text, .at = text, .end = text + bytes };
	/* Unescaped text is never longer than what it came from; a number gets a NUL. */
	buf_init(&j->text, bytes + 1);
}

void json_read_done(struct json_read *j)
{
	buf_done(&j->text);
}

/* Nothing is left to read after it, so that readers need not ask. */
void json_read_fail(struct json_read *j, int err)
{
	if (!j->err)
		j->err = err;
	j->end = j->at;
}

size_t json_read_offset(const struct json_read *j)
{
	return (size_t)(j->at - j->start);
}

/* The character that the next value, or what stands between values, begins with; NUL at the end. */
static char peek_behind_space(struct json_read *j)
{
	const char *at = j->at;

	while (at < j->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
		at++;
	j->at = at;
	return at < j->end ? *at : '\0';
}

static inline char peek(struct json_read *j)
{
	return j->at < j->end && (u8)*j->at > ' ' ? *j->at : peek_behind_space(j);
}

static bool take(struct json_read *j, char c)
{
	if (peek(j) != c) {
		json_read_fail(j, -EBADMSG);
		return false;
	}
	j->at++;
	return true;
}

int json_read_end(struct json_read *j)
{
	(void)peek(j);
	if (j->at < j->end)
		json_read_fail(j, -EBADMSG);
	return j->err;
}

static bool take_word(struct json_read *j, const char *word, size_t len)
{
	if ((size_t)(j->end - j->at) < len || memcmp(j->at, word, len)) {
		json_read_fail(j, -EBADMSG);
		return false;
	}
	j->at += len;
	return true;
}

/* ---- Objects and lists ------------------------------------------------------ */

static void open(struct json_read *j, char bracket)
{
	if (j->depth >= JSON_READ_DEPTH_MAX)
		json_read_fail(j, -EBADMSG);
	if (!take(j, bracket))
		return;
	j->depth++;
	j->first = true;
}

/* Goes on to the next entry, past the comma. False, and out of the object or list, at its end. */
static inline bool next(struct json_read *j, char bracket)
{
	char c = peek(j);

	if (c == bracket) {
		j->at++;
		j->depth--;
		j->first = false;
		return false;
	}
	if (!j->first && !take(j, ','))
		return false;
	j->first = false;
	if (j->at < j->end)
		return true;
	json_read_fail(j, -EBADMSG);
	return false;
}

void json_read_object(struct json_read *j)
{
	open(j, '{');
}

char json_read_peek(struct json_read *j)
{
	return peek(j);
}

bool json_read_any_member(struct json_read *j, struct str *ret_key)
{
	if (!next(j, '}'))
		return false;
	*ret_key = json_read_string(j);
	return take(j, ':');
}

bool json_read_member(struct json_read *j, struct str *ret_key)
{
	while (json_read_any_member(j, ret_key))
		if (peek(j) != 'n' || !take_word(j, "null", 4))
			return !j->err;
	return false;
}

void json_read_list(struct json_read *j)
{
	open(j, '[');
}

bool json_read_item(struct json_read *j)
{
	return next(j, ']');
}

/* ---- Strings ---------------------------------------------------------------- */

/* What stands for itself: ASCII but quotes, backslashes and control characters; eight bytes at a time. */
static inline const char *skip_plain(const char *at, const char *end)
{
	const u64 ones = 0x0101010101010101, high = 0x8080808080808080;
	u64 word, quote, slash, others;

	for (; end - at >= (ptrdiff_t)sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		word = le64toh(word);
		/* A byte that is zero after the xor borrows from its high bit; so does one below 0x20. */
		quote = word ^ ones * '"';
		slash = word ^ ones * '\\';
		others = (word | (quote - ones) | (slash - ones) | (word - ones * 0x20)) & high;
		/* The lowest is one: nothing below has borrowed from it. */
		if (others)
			return at + __builtin_ctzll(others) / 8;
	}
	while (at < end && (u8)*at >= 0x20 && (u8)*at < 0x80 && *at != '"' && *at != '\\')
		at++;
	return at;
}

/* The number behind \u; -1 if there is none. */
static int read_unit(struct json_read *j)
{
	int unit = 0;

	if (j->end - j->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(j->at[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	j->at += 4;
	return unit;
}

static void add_character(struct buf *b, u32 c)
{
	char text[4];

	buf_add(b, text, utf8_put(text, c));
}

/* Characters beyond 16 bits are two units, high and low; neither stands alone. */
static bool read_escaped_unit(struct json_read *j)
{
	int high = read_unit(j), low;

	if (high < 0 || (high & 0xfc00) == 0xdc00)
		return false;
	if ((high & 0xfc00) != 0xd800) {
		add_character(&j->text, (u32)high);
		return true;
	}
	if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
		return false;
	j->at += 2;
	low = read_unit(j);
	if (low < 0 || (low & 0xfc00) != 0xdc00)
		return false;
	add_character(&j->text, 0x10000 + ((u32)(high & 0x3ff) << 10 | (u32)(low & 0x3ff)));
	return true;
}

static bool read_escape(struct json_read *j)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *name;
	char c;

	if (j->end - j->at < 2)
		return false;
	c = j->at[1];
	j->at += 2;
	if (c == 'u')
		return read_escaped_unit(j);
	name = memchr(names, c, sizeof(names) - 1);
	if (name)
		buf_add(&j->text, &meanings[name - names], 1);
	return name;
}

/* From the first byte on that does not stand for itself; start is that of the string. */
static struct str read_rest(struct json_read *j, const char *start)
{
	j->text.len = 0;
	buf_add(&j->text, start, (size_t)(j->at - start));
	while (j->at < j->end && *j->at != '"') {
		const char *at = skip_plain(j->at, j->end);
		size_t len = at < j->end ? utf8_next(at, (size_t)(j->end - at)) : 0;
		bool fits = true;

		/* Plain text, and the character of more bytes that ended it. */
		if (len > 1)
			at += len;
		buf_add(&j->text, j->at, (size_t)(at - j->at));
		j->at = at;
		if (len == 1 && *at == '\\')
			fits = read_escape(j);
		else if (len <= 1)
			fits = at < j->end && *at == '"';
		if (!fits)
			json_read_fail(j, -EBADMSG);
	}
	if (buf_err(&j->text))
		json_read_fail(j, buf_err(&j->text));
	else if (take(j, '"') && j->text.len <= UINT32_MAX)
		return (struct str){ j->text.data, (u32)j->text.len };
	json_read_fail(j, -EBADMSG);
	return (struct str){ 0 };
}

struct str json_read_string(struct json_read *j)
{
	const char *start, *at;

	if (!take(j, '"'))
		return (struct str){ 0 };
	start = j->at;
	at = skip_plain(start, j->end);
	j->at = at;
	if (at == j->end || *at != '"' || at - start > UINT32_MAX)
		return read_rest(j, start);
	j->at++;
	return (struct str){ start, (u32)(at - start) };
}

/* ---- Numbers ---------------------------------------------------------------- */

static const char *skip_digits(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

/* Where a number of JSON's grammar ends; NULL if there is none. */
static const char *number_end(const char *at, const char *end)
{
	const char *digits;

	at += at < end && *at == '-';
	digits = at;
	at = skip_digits(at, end);
	if (at == digits || (*digits == '0' && at - digits > 1))
		return NULL;
	if (at < end && *at == '.') {
		digits = at + 1;
		at = skip_digits(digits, end);
		if (at == digits)
			return NULL;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		digits = at;
		at = skip_digits(digits, end);
		if (at == digits)
			return NULL;
	}
	return at;
}

/* The number that stands here without quotes, as text. */
struct str json_read_number(struct json_read *j)
{
	const char *start, *end;

	(void)peek(j);
	start = j->at;
	end = number_end(start, j->end);
	if (!end || end - start > UINT32_MAX) {
		json_read_fail(j, -EBADMSG);
		return (struct str){ 0 };
	}
	j->at = end;
	return (struct str){ start, (u32)(end - start) };
}

static double parse_real(struct json_read *j, struct str number)
{
	struct buf *b = &j->text;
	/* It may be there already: a string that had escapes. */
	bool copied = number.at == b->data;

	if (!copied) {
		b->len = 0;
		buf_add(b, number.at, number.len);
	}
	buf_add(b, "", 1);
	if (!buf_err(b))
		return strtod(b->data, NULL);
	json_read_fail(j, buf_err(b));
	return 0;
}

struct whole {
	u64 value;
	bool minus;
};

/* Digits, and before them perhaps a minus. */
static bool parse_whole(struct str text, struct whole *ret_whole)
{
	struct whole whole = { .minus = text.len && text.at[0] == '-' };

	if (text.len == whole.minus)
		return false;
	for (u32 i = whole.minus; i < text.len; i++)
		if (text.at[i] < '0' || text.at[i] > '9' || __builtin_mul_overflow(whole.value, 10, &whole.value) ||
		    __builtin_add_overflow(whole.value, (u64)(text.at[i] - '0'), &whole.value))
			return false;
	*ret_whole = whole;
	return true;
}

/* Reals count where they are whole and exact: 1e3. */
#define EXACT_MAX 9007199254740992.0

static struct whole read_odd(struct json_read *j)
{
	bool quoted = peek(j) == '"';
	struct str text = quoted ? json_read_string(j) : json_read_number(j);
	struct whole whole = { 0 };
	double real;

	if (j->err || parse_whole(text, &whole))
		return whole;
	real = quoted ? NAN : parse_real(j, text);
	if (real == floor(real) && fabs(real) <= EXACT_MAX)
		return (struct whole){ (u64)fabs(real), real < 0 };
	json_read_fail(j, -EBADMSG);
	return whole;
}

#define DIGITS_SAFE 19		/* that many fit into 64 bits, whatever they are */

/*
 * Up to eight digits at once, for numbers are of any length and a loop over
 * their digits is mispredicted at each end. Bytes, the first lowest:
 *
 *	digits ^ '0' is 0 to 9; what is more than that gets its high bit by adding 0x76
 *	zeros are shifted in below, as leading digits
 *	pairs:  10 a + b, in every other byte
 *	then    1000000 p + 10000 q + 100 r + s, by two multiplications
 */
static inline u64 eight_digits(const char *at, u32 *ret_count)
{
	const u64 high = 0x8080808080808080, pairs = 0x000000ff000000ff;
	u64 word, others;
	u32 count;

	memcpy(&word, at, sizeof(word));
	word = le64toh(word) ^ 0x3030303030303030;
	others = ((word + 0x7676767676767676) | word) & high;
	count = others ? (u32)__builtin_ctzll(others) / 8 : 8;
	*ret_count = count;
	if (!count)
		return 0;
	word <<= 64 - 8 * count;
	word = word * 10 + (word >> 8);
	return ((word & pairs) * (100 + (1000000ull << 32)) + ((word >> 16 & pairs) * (1 + (10000ull << 32)))) >> 32;
}

/* Past the digits; what they stand for is right if they are DIGITS_SAFE at most. */
static inline const char *read_digits(const char *at, const char *end, u64 *ret_value)
{
	static const u32 powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
	u64 value = 0;
	u32 count = 8;

	while (count == 8 && end - at >= 8) {
		u64 digits = eight_digits(at, &count);

		value = value * powers[count] + digits;
		at += count;
	}
	for (; count == 8 && at < end && (u8)(*at - '0') <= 9; at++)
		value = value * 10 + (u8)(*at - '0');
	*ret_value = value;
	return at;
}

static inline struct whole read_whole(struct json_read *j)
{
	bool quoted = peek(j) == '"';
	const char *at = j->at + quoted, *digits;
	struct whole whole = { .minus = at < j->end && *at == '-' };

	digits = at + whole.minus;
	at = read_digits(digits, j->end, &whole.value);
	if (at == digits || at - digits > DIGITS_SAFE || at == j->end)
		return read_odd(j);
	if (quoted ? *at != '"' : *at == '.' || *at == 'e' || *at == 'E' || (*digits == '0' && at - digits > 1))
		return read_odd(j);
	j->at = at + quoted;
	return whole;
}

s64 json_read_s64(struct json_read *j)
{
	struct whole whole = read_whole(j);

	if (whole.value <= (u64)INT64_MAX + whole.minus)
		return (s64)(whole.minus ? -whole.value : whole.value);
	json_read_fail(j, -EBADMSG);
	return 0;
}

static inline u64 read_unsigned(struct json_read *j, u64 limit)
{
	struct whole whole = read_whole(j);

	if (whole.value <= limit && (!whole.minus || !whole.value))
		return whole.value;
	json_read_fail(j, -EBADMSG);
	return 0;
}

u64 json_read_u64(struct json_read *j)
{
	return read_unsigned(j, UINT64_MAX);
}

u32 json_read_u32(struct json_read *j)
{
	return (u32)read_unsigned(j, UINT32_MAX);
}

/* Numbers of up to seven digits that stand one behind the other, which nearly all in lists of indices do. */
static u32 read_short(struct json_read *j, u32 *out, u32 room)
{
	const char *at = j->at + !j->first;
	u32 n = 0, count;

	if (!j->first && (at > j->end || at[-1] != ','))
		return 0;
	for (; n < room && j->end - at > 8; at++) {
		u32 value = (u32)eight_digits(at, &count);

		if (!count || count == 8 || (*at == '0' && count > 1) || (at[count] != ',' && at[count] != ']'))
			break;
		out[n++] = value;
		at += count;
		/* What is behind it ends the list, or stands before the next. */
		j->at = at;
		j->first = false;
		if (*at == ']')
			break;
	}
	return n;
}

u32 json_read_u32_list(struct json_read *j, u32 **array, u32 *cap)
{
	u32 count = 0;

	json_read_list(j);
	for (;;) {
		int r = count < JSON_READ_LIST_MAX ? array_reserve(array, cap, count + 1, sizeof(**array)) : -E2BIG;

		if (r < 0) {
			json_read_fail(j, r);
			return 0;
		}
		count += read_short(j, *array + count, *cap - count);
		if (count == *cap)
			continue;
		if (!json_read_item(j))
			return j->err ? 0 : count;
		(*array)[count++] = json_read_u32(j);
	}
}

double json_read_double(struct json_read *j)
{
	struct str text;

	if (peek(j) != '"')
		return parse_real(j, json_read_number(j));
	text = json_read_string(j);
	if (str_is(text, "NaN"))
		return NAN;
	if (str_is(text, "Infinity"))
		return INFINITY;
	if (str_is(text, "-Infinity"))
		return -INFINITY;
	if (text.len && number_end(text.at, text.at + text.len) == text.at + text.len)
		return parse_real(j, text);
	json_read_fail(j, -EBADMSG);
	return 0;
}

/* ---- Others ----------------------------------------------------------------- */

bool json_read_bool(struct json_read *j)
{
	bool is_true = peek(j) == 't';

	return take_word(j, is_true ? "true" : "false", is_true ? 4 : 5) && is_true;
}

/* Enters an object or a list, or reads over what has nothing inside; true if it is an object. */
static bool skip_head(struct json_read *j)
{
	switch (peek(j)) {
	case '{':
		json_read_object(j);
		return true;
	case '[':
		json_read_list(j);
		break;
	case '"':
		(void)json_read_string(j);
		break;
	case 'n':
		take_word(j, "null", 4);
		break;
	case 't':
	case 'f':
		(void)json_read_bool(j);
		break;
	default:
		(void)json_read_number(j);
	}
	return false;
}

void json_read_skip(struct json_read *j)
{
	bool objects[JSON_READ_DEPTH_MAX + 1];
	u32 outside = j->depth;
	struct str key;

	do {
		u32 depth = j->depth;
		bool is_object = skip_head(j);

		if (j->depth > depth)
			objects[j->depth] = is_object;
		while (!j->err && j->depth > outside &&
		       !(objects[j->depth] ? json_read_member(j, &key) : json_read_item(j)))
			;
	} while (!j->err && j->depth > outside);
}
