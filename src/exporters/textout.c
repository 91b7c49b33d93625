// SPDX-License-Identifier: Apache-2.0
#include "exporters/textout.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "profile/any.h"

/* Of one list, map or string of bytes. */
#define VALUE_MAX (64u << 20)

void textout_init(struct textout *out, int (*write)(void *arg, const char *at, size_t bytes), void *arg)
{
	out->write = write;
	out->arg = arg;
	out->err = 0;
	out->len = 0;
}

static void flush(struct textout *out)
{
	if (!out->err && out->len)
		out->err = out->write(out->arg, out->chunk, out->len);
	out->len = 0;
}

int textout_end(struct textout *out)
{
	flush(out);
	return out->err;
}

void textout_add(struct textout *out, const char *at, size_t len)
{
	while (len && !out->err) {
		size_t part = len < sizeof(out->chunk) - out->len ? len : sizeof(out->chunk) - out->len;

		memcpy(out->chunk + out->len, at, part);
		out->len += part;
		at += part;
		len -= part;
		if (out->len == sizeof(out->chunk))
			flush(out);
	}
}

void textout_addf(struct textout *out, const char *format, ...)
{
	char text[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len > 0)
		textout_add(out, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

static u32 code_point(const char *at, size_t len)
{
	const unsigned char *c = (const unsigned char *)at;

	switch (len) {
	case 1: return c[0];
	case 2: return (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
	case 3: return (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
	default: return (c[0] & 0x07u) << 18 | (c[1] & 0x3fu) << 12 | (c[2] & 0x3fu) << 6 | (c[3] & 0x3fu);
	}
}

/* Controls, line and paragraph separators, and the marks that turn the direction of writing. */
static bool is_unsafe(u32 code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void textout_name(struct textout *out, struct str name)
{
	u32 plain = 0;	/* where what may pass as it is begins */

	for (u32 i = 0; i < name.len;) {
		size_t step;
		u32 code;

		/* Most are plain ASCII. */
		if (name.at[i] >= 0x20 && name.at[i] < 0x7f) {
			i++;
			continue;
		}
		step = utf8_next(name.at + i, name.len - i);
		code = step ? code_point(name.at + i, step) : (unsigned char)name.at[i];
		i += step ? (u32)step : 1;
		if (step && !is_unsafe(code))
			continue;
		textout_add(out, name.at + plain, i - plain - (step ? (u32)step : 1));
		textout_addf(out, step > 1 ? "\\u{%04x}" : "\\x%02x", code);
		plain = i;
	}
	if (name.len > plain)
		textout_add(out, name.at + plain, name.len - plain);
}

void textout_hex(struct textout *out, const u8 *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		textout_addf(out, "%02x", at[i]);
}

/* Base64 and numbers like NaN stand without the quotes that JSON puts around them. */
static void add_json(struct textout *out, const struct any *value)
{
	struct buf text;
	size_t quotes;

	buf_init(&text, VALUE_MAX);
	any_put_json(&text, value);
	quotes = !buf_err(&text) && text.data[0] == '"';
	if (buf_err(&text))
		textout_addf(out, "(a value of more than %u bytes)", VALUE_MAX);
	else
		textout_name(out, (struct str){ text.data + quotes, (u32)(text.len - 2 * quotes) });
	buf_done(&text);
}

void textout_any(struct textout *out, const struct any *value)
{
	switch (value->kind) {
	case ANY_NONE:
		return;
	case ANY_STRING:
		textout_name(out, value->string);
		return;
	case ANY_BOOL:
		textout_addf(out, "%s", value->boolean ? "true" : "false");
		return;
	case ANY_INT:
		textout_addf(out, "%lld", value->integer);
		return;
	default:
		add_json(out, value);
	}
}

const char *textout_type(const struct any *value)
{
	static const char *const types[] = {
		[ANY_NONE] = "Empty", [ANY_STRING] = "Str", [ANY_BOOL] = "Bool", [ANY_INT] = "Int",
		[ANY_DOUBLE] = "Double", [ANY_ARRAY] = "Slice", [ANY_MAP] = "Map", [ANY_BYTES] = "Bytes",
	};

	return types[value->kind];
}
