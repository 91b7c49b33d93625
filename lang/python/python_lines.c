// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_lines.h"

#include "base/cursor.h"
#include "lang/python/python_layout.h"

#define NO_LINE_3_10 (-128)

/* A stretch of code that is of no line has the one of what was before it. */
struct line {
	s64 now;	/* as counted */
	s64 told;	/* the last that was a line */
};

static u32 answer(s64 line, u32 first_line)
{
	return line > 0 && line <= UINT32_MAX ? (u32)line : first_line;
}

static s64 line_3_9(struct cursor *c, s64 line, u64 byte)
{
	u64 at = 0;

	while (cursor_left(c) >= 2) {
		at += cursor_u8(c);
		if (at > byte)
			break;
		line += (s8)cursor_u8(c);
	}
	return line;
}

static s64 line_3_10(struct cursor *c, s64 first_line, u64 byte)
{
	struct line line = { first_line, first_line };
	u64 end = 0;

	while (cursor_left(c) >= 2) {
		s8 delta;

		end += cursor_u8(c);
		delta = (s8)cursor_u8(c);
		if (delta != NO_LINE_3_10) {
			line.now += delta;
			line.told = line.now;
		}
		if (byte < end)
			break;
	}
	return line.told;
}

/* Six bits a byte, the lowest first; the seventh says that there are more. */
static u64 read_varint(struct cursor *c)
{
	u64 value = 0;

	for (u32 shift = 0; shift < 36; shift += 6) {
		u8 byte = cursor_u8(c);

		value |= (u64)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

static s64 read_signed_varint(struct cursor *c)
{
	u64 value = read_varint(c);

	return value & 1 ? -(s64)(value >> 1) : (s64)(value >> 1);
}

/* What an entry of that kind does to the line; its columns are skipped. */
static void apply_entry(struct cursor *c, u32 kind, struct line *line)
{
	switch (kind) {
	case 15:	/* no line */
		return;
	case 14:	/* line, end of line, columns */
		line->now += read_signed_varint(c);
		for (int i = 0; i < 3; i++)
			(void)read_varint(c);
		break;
	case 13:	/* no columns */
		line->now += read_signed_varint(c);
		break;
	case 10 ... 12:	/* the line in the kind */
		line->now += kind - 10;
		(void)cursor_skip(c, 2);
		break;
	default:	/* the same line */
		(void)cursor_skip(c, 1);
	}
	line->told = line->now;
}

static s64 line_3_11(struct cursor *c, s64 first_line, u64 unit)
{
	struct line line = { first_line, first_line };
	u64 end = 0;

	while (cursor_left(c)) {
		u8 head = cursor_u8(c);

		/* Entries begin with the top bit set, and nothing else has it. */
		if (!(head & 128))
			break;
		apply_entry(c, head >> 3 & 15, &line);
		end += (head & 7) + 1u;
		if (unit < end)
			break;
	}
	return line.told;
}

u32 python_line(u32 version, const u8 *table, size_t bytes, u32 first_line, u32 instruction)
{
	struct cursor c = cursor_of(table, bytes);

	if (version >= PYTHON_VERSION(11))
		return answer(line_3_11(&c, first_line, instruction), first_line);
	if (version == PYTHON_VERSION(10))
		return answer(line_3_10(&c, first_line, 2ull * instruction), first_line);
	return answer(line_3_9(&c, first_line, 2ull * instruction), first_line);
}
