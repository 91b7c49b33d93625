// SPDX-License-Identifier: Apache-2.0
/* The tables are what each version's compiler makes of one function; the lines what its own reader says of them. */
#include "lang/python/python_lines.h"

#include "lang/python/python_layout.h"
#include "test.h"

static void expect(u32 minor, const char *table, size_t bytes, const u16 *lines, u32 count)
{
	for (u32 i = 0; i < count; i++)
		EQ(python_line(PYTHON_VERSION(minor), (const u8 *)table, bytes, 1, i), lines[i]);
}

#define EXPECT(minor, table, ...)                                                                                 \
	expect(minor, table, sizeof(table) - 1, (const u16[]){ __VA_ARGS__ }, sizeof((const u16[]){ __VA_ARGS__ }) / 2)

TEST(python_lines_reads_lnotab)
{
	EXPECT(8, "\x00\x01\x02\x01\x02\xff\x04\x02\x02\x01\x02\xff\x08\x02\x0a\x7f\x00\x7f\x00\x2f", 2, 3, 2, 2, 4, 5,
	       4, 4, 4, 4, 6, 6, 6, 6, 6, 307, 307);
}

TEST(python_lines_reads_the_line_table_of_3_10)
{
	EXPECT(10, "\x02\x01\x02\x01\x04\xff\x02\x02\x02\x01\x08\xff\x0a\x02\x00\x7f\x00\x7f\x04\x2f", 2, 3, 2, 2, 4, 5,
	       4, 4, 4, 4, 6, 6, 6, 6, 6, 307, 307);
	/* A stretch of no line has the line before it. */
	EXPECT(10, "\x02\x05\x02\x80\x02\x01", 6, 6, 7);
}

TEST(python_lines_reads_the_location_table)
{
	EXPECT(11,
	       "\x80\x00\xd8\x09\x0a\xd8\x09\x0a\xf1\x03\x01\x0a\x0b\x80\x41\xe5\x0d\x12\xd8\x0c\x0d\xf1\x03\x01\x0e"
	       "\x0f\xf4\x00\x01\x0e\x0f\xf0\x00\x02\x05\x0f\xf0\x00\x02\x05\x0f\x88\x01\xe0\x08\x09\x88\x51\x89\x06"
	       "\x88\x01\x88\x01\xf0\x5a\x09\x00\x0c\x0d\x80\x48",
	       1, 2, 3, 2, 2, 2, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 307, 307);
	EXPECT(13,
	       "\x80\x00\xd8\x09\x0a\xd8\x09\x0a\xf1\x03\x01\x0a\x0b\x80\x41\xe4\x0d\x12\xd8\x0c\x0d\xf6\x03\x01\x0e"
	       "\x0f\x88\x01\xe0\x08\x09\x89\x06\x8a\x01\xf1\x05\x01\x0e\x0f\xf0\x5e\x09\x00\x0c\x0d\x80\x48",
	       1, 2, 3, 2, 2, 2, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 4, 4, 307, 307);
	/* No line (kind 15) for two units. */
	EXPECT(12, "\xd8\x00\x00\xf9\xd8\x00\x00", 2, 2, 2, 3);
}

TEST(python_lines_says_the_first_line_where_the_table_does_not_tell)
{
	EQ(python_line(PYTHON_VERSION(8), NULL, 0, 7, 100), 7);
	EQ(python_line(PYTHON_VERSION(10), (const u8 *)"\x02", 1, 7, 100), 7);
	EQ(python_line(PYTHON_VERSION(11), (const u8 *)"\x00\x01\x02", 3, 7, 1), 7);
	/* Lines below 1 are none. */
	EQ(python_line(PYTHON_VERSION(8), (const u8 *)"\x00\x80", 2, 7, 0), 7);
}
