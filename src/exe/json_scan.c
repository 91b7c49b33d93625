// SPDX-License-Identifier: Apache-2.0
#include "exe/json_scan.h"

#include <errno.h>
#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"

static void skip_space(struct json_scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

/* Past the closing quote; NULL if there is none. */
static const char *string_end(const char *at, const char *end)
{
	for (at++; at < end; at++) {
		if (*at == '\\')
			at++;
		else if (*at == '"')
			return at + 1;
	}
	return NULL;
}

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' || c == 'E';
}

/* Past the value that starts there: brackets are counted, not what is between them. NULL if it does not end. */
static const char *value_end(const char *at, const char *end)
{
	u32 depth = 0;

	while (at < end) {
		if (*at == '"') {
			at = string_end(at, end);
			if (!at)
				return NULL;
		} else if (*at == '{' || *at == '[') {
			if (++depth > JSON_SCAN_DEEP)
				return NULL;
			at++;
		} else if (*at == '}' || *at == ']') {
			if (!depth--)
				return NULL;
			at++;
		} else if (is_plain(*at)) {
			while (at < end && is_plain(*at))
				at++;
		} else if (depth) {
			at++;		/* what separates them */
		} else {
			return NULL;
		}
		if (!depth)
			return at;
	}
	return NULL;
}

int json_scan_value(const char *at, size_t bytes, struct json_scan *ret_value)
{
	struct json_scan s;
	const char *end;

	if (!bytes)
		return -EBADMSG;
	s = (struct json_scan){ at, at + bytes };
	skip_space(&s);
	end = value_end(s.at, s.end);
	if (!end)
		return -EBADMSG;
	*ret_value = (struct json_scan){ s.at, end };
	return 0;
}

/* Past what opens it, or what is between two values; false at its end. */
static bool go_on(struct json_scan *s, char opens)
{
	if (!s->at)
		return false;
	skip_space(s);
	if (s->at == s->end || (*s->at != opens && *s->at != ','))
		return false;
	s->at++;
	skip_space(s);
	return true;
}

static bool take_value(struct json_scan *s, struct json_scan *ret_value)
{
	const char *end = value_end(s->at, s->end);

	if (!end)
		return false;
	*ret_value = (struct json_scan){ s->at, end };
	s->at = end;
	return true;
}

bool json_scan_member(struct json_scan *object, struct json_scan *ret_key, struct json_scan *ret_value)
{
	if (!go_on(object, '{') || !take_value(object, ret_key))
		return false;
	skip_space(object);
	if (object->at == object->end || *object->at != ':')
		return false;
	object->at++;
	skip_space(object);
	return take_value(object, ret_value);
}

bool json_scan_element(struct json_scan *array, struct json_scan *ret_value)
{
	return go_on(array, '[') && take_value(array, ret_value);
}

bool json_scan_is_string(const struct json_scan *value)
{
	return value->at && value->at < value->end && *value->at == '"';
}

bool json_scan_is(const struct json_scan *value, const char *text)
{
	size_t len = strlen(text);

	return json_scan_is_string(value) && (size_t)(value->end - value->at) == len + 2 &&
	       !memcmp(value->at + 1, text, len);
}

/* What four digits say; 0xfffd for what is none. */
static u32 unit_of(const char *at, const char *end)
{
	u32 unit = 0;

	for (u32 i = 0; i < 4; i++) {
		if (at + i >= end || hex_digit(at[i]) < 0)
			return 0xfffd;
		unit = unit << 4 | (u32)hex_digit(at[i]);
	}
	return unit;
}

/* A unit as UTF-8; halves of pairs are not put together: sources and functions are hardly named so. */
static size_t put_unit(char *to, u32 unit)
{
	return utf8_put(to, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit);
}

static char escaped(char c)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *found = strchr(from, c);

	return found && *found ? to[found - from] : c;
}

void json_scan_text(const struct json_scan *value, char *to, size_t to_bytes)
{
	const char *at, *end;
	size_t len = 0;

	to[0] = '\0';
	if (!json_scan_is_string(value))
		return;
	at = value->at + 1;
	end = value->end - 1;
	while (at < end && len + 4 < to_bytes && *at) {
		if (*at != '\\') {
			to[len++] = *at++;
		} else if (at + 1 < end && at[1] == 'u') {
			u32 unit = unit_of(at + 2, end);

			if (!unit)
				break;
			len += put_unit(to + len, unit);
			at += 6;
		} else {
			to[len++] = at + 1 < end ? escaped(at[1]) : '?';
			at += 2;
		}
	}
	to[len] = '\0';
}

s64 json_scan_number(const struct json_scan *value)
{
	s64 number = 0;

	if (!value->at || value->end - value->at > 9)
		return 0;
	for (const char *at = value->at; at < value->end; at++) {
		if (*at < '0' || *at > '9')
			return 0;
		number = 10 * number + (*at - '0');
	}
	return number;
}
