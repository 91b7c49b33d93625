// SPDX-License-Identifier: Apache-2.0
#include "base/cursor.h"

#include "test.h"

TEST(cursor_reads_numbers)
{
	static const char data[] = "\x01\x02\x03\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff";
	struct cursor c = cursor_of(data, 13);

	EQ(cursor_u8(&c), 1);
	EQ(cursor_uint(&c, 2), 0x302);
	EQ(cursor_int(&c, 2), -1);
	EQ(cursor_int(&c, 8), -2);
	OK(!c.bad);
}

TEST(cursor_reads_nothing_past_its_end)
{
	struct cursor c = cursor_of("ab", 2);

	EQ(cursor_uint(&c, 4), 0);
	OK(c.bad);
	EQ(cursor_left(&c), 0);
	EQ(cursor_u8(&c), 0);
	OK(!cursor_skip(&c, 1));
	STREQ(cursor_string(&c), "");
}

TEST(cursor_reads_leb128)
{
	static const struct { const char *data; size_t len; uint64_t u; int64_t s; } table[] = {
		{ "\x00", 1, 0, 0 },
		{ "\x7f", 1, 127, -1 },
		{ "\x80\x01", 2, 128, 128 },
		{ "\x80\x7f", 2, 16256, -128 },
		{ "\xe5\x8e\x26", 3, 624485, 624485 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, -1 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, 1ull << 63, INT64_MIN },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct cursor u = cursor_of(table[i].data, table[i].len), s = u;

		EQ(cursor_uleb(&u), table[i].u);
		EQ(cursor_sleb(&s), table[i].s);
		OK(!u.bad && !s.bad);
		EQ(cursor_left(&u), 0);
	}
}

TEST(cursor_refuses_leb128_without_end)
{
	struct cursor c = cursor_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 13);
	struct cursor cut = cursor_of("\x80", 1);

	cursor_uleb(&c);
	OK(c.bad);
	cursor_uleb(&cut);
	OK(cut.bad);
}

TEST(cursor_takes_strings_that_end)
{
	struct cursor c = cursor_of("ab\0cd", 5);

	STREQ(cursor_string(&c), "ab");
	OK(!c.bad);
	STREQ(cursor_string(&c), "");
	OK(c.bad);
}
