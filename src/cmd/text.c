// SPDX-License-Identifier: Apache-2.0
#include "cmd/text.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "profile/profile.h"

#define REPLACEMENT 0xfffd

/* One character, or one byte that is none. */
struct rune {
	u32 code;
	unsigned bytes;
	bool valid;
};

static struct rune rune_next(const char *at, size_t left)
{
	static const u8 first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned bytes = (unsigned)utf8_next(at, left);
	u32 code = (u8)at[0] & first_bits[bytes];

	if (!bytes)
		return (struct rune){ (u8)at[0], 1, false };
	for (unsigned i = 1; i < bytes; i++)
		code = code << 6 | (at[i] & 0x3f);
	return (struct rune){ code, bytes, true };
}

struct range {
	u32 first, last;
};

static bool in_ranges(const struct range *ranges, size_t count, u32 code)
{
	for (size_t i = 0; i < count && ranges[i].first <= code; i++) {
		if (code <= ranges[i].last)
			return true;
	}
	return false;
}
#define IN(ranges, code) in_ranges(ranges, sizeof(ranges) / sizeof((ranges)[0]), code)

/* C0, DEL, C1; soft hyphen, zero width, line separators, bidirectional controls, byte order mark, tags. */
static const struct range hidden[] = {
	{ 0x00, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	    { 0x61c, 0x61c },	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};
static const struct range combining[] = {
	{ 0x300, 0x36f }, { 0x1ab0, 0x1aff }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }
};
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x2e80, 0xa4cf }, { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f },
	{ 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
};

/* How a character is shown: as itself, or escaped into text. Returns its columns. */
static unsigned rune_show(struct rune rune, char text[16])
{
	text[0] = '\0';
	if (!rune.valid || (rune.code < 0x80 && IN(hidden, rune.code)))
		return (unsigned)snprintf(text, 16, "\\x%02x", rune.code);
	if (IN(hidden, rune.code))
		return (unsigned)snprintf(text, 16, "\\u{%x}", rune.code);
	return IN(combining, rune.code) ? 0 : IN(wide, rune.code) ? 2 : 1;
}

/* Columns of the whole, counted no further than one past limit. */
static unsigned text_columns(struct str name, unsigned limit)
{
	char text[16];
	unsigned columns = 0;

	for (size_t i = 0; i < name.len && columns <= limit;) {
		struct rune rune = rune_next(name.at + i, name.len - i);

		columns += rune_show(rune, text);
		i += rune.bytes;
	}
	return columns;
}

unsigned text_add(struct buf *out, struct str name, unsigned columns)
{
	bool cut = columns != TEXT_UNLIMITED && text_columns(name, columns) > columns;
	unsigned room = !cut ? columns : columns > 3 ? columns - 3 : columns;
	unsigned used = 0;
	char text[16];

	for (size_t i = 0; i < name.len;) {
		struct rune rune = rune_next(name.at + i, name.len - i);
		unsigned wide_by = rune_show(rune, text);

		if (wide_by > room - used)
			break;
		if (text[0])
			buf_add(out, text, wide_by);
		else
			buf_add(out, name.at + i, rune.bytes);
		used += wide_by;
		i += rune.bytes;
	}
	if (cut && columns > 3) {
		buf_add(out, "...", 3);
		used += 3;
	}
	return used;
}

void text_add_padded(struct buf *out, struct str name, unsigned columns)
{
	unsigned used = text_add(out, name, columns);

	buf_addf(out, "%*s", (int)(columns - used), "");
}

void text_add_json(struct buf *out, struct str name)
{
	buf_add(out, "\"", 1);
	for (size_t i = 0; i < name.len;) {
		struct rune rune = rune_next(name.at + i, name.len - i);

		if (!rune.valid)
			buf_addf(out, "\\u%04x", REPLACEMENT);
		else if (rune.code == '"' || rune.code == '\\')
			buf_addf(out, "\\%c", (char)rune.code);
		else if (rune.code < 0x20 || (rune.code < 0x10000 && IN(hidden, rune.code)))
			buf_addf(out, "\\u%04x", rune.code);
		else
			buf_add(out, name.at + i, rune.bytes);
		i += rune.bytes;
	}
	buf_add(out, "\"", 1);
}

/* Three digits of precision in the largest step that keeps the number at or above 1. */
static const char *scaled(char text[TEXT_VALUE_MAX], double value, double step, const char *const *units)
{
	double size = value < 0 ? -value : value;

	while (size >= step * 0.9995 && units[1]) {
		size /= step;
		value /= step;
		units++;
	}
	snprintf(text, TEXT_VALUE_MAX, "%.*f %s", size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, value, *units);
	return text;
}

const char *text_value(char text[TEXT_VALUE_MAX], s64 value, enum unit unit)
{
	static const char *const bytes[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL };
	static const char *const times[] = { "ns", "us", "ms", NULL };

	if (!value)
		unit = UNIT_COUNT; /* nothing has no unit */
	switch (unit) {
	case UNIT_NANOSECONDS:
		/* Seconds are the largest step: "90.0 s" compares with "123 s" at a glance, "2.05 min" does not. */
		if (value >= 999500000 || value <= -999500000) {
			double s = (double)value / 1e9, size = s < 0 ? -s : s;

			snprintf(text, TEXT_VALUE_MAX, "%.*f s", size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, s);
			return text;
		}
		return scaled(text, (double)value, 1000, times);
	case UNIT_BYTES:
		return scaled(text, (double)value, 1024, bytes);
	case UNIT_COUNT:
		break;
	}
	snprintf(text, TEXT_VALUE_MAX, "%lld", (long long)value);
	return text;
}
