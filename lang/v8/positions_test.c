// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/positions.h"

#include "test.h"

TEST(v8_positions_hold_from_their_code_on)
{
	/* Code 3, position 10; an expression, code 8, position 4; code 200, position 100. They start before 0. */
	static const u8 table[] = { 4 << 1, 10 << 1, (6 << 1) - 1, (6 << 1) - 1, 0x80, 0x03, 0xc0, 0x01 };

	EQ(positions_find(table, sizeof(table), 2), POSITION_NONE);
	EQ(positions_find(table, sizeof(table), 3), 10);
	EQ(positions_find(table, sizeof(table), 7), 10);
	EQ(positions_find(table, sizeof(table), 8), 4);
	EQ(positions_find(table, sizeof(table), 199), 4);
	EQ(positions_find(table, sizeof(table), 200), 100);
	/* Cut off within an entry. */
	EQ(positions_find(table, sizeof(table) - 1, 200), 4);
	EQ(positions_find(table, 0, 200), POSITION_NONE);
}

TEST(v8_positions_that_do_not_end)
{
	u8 table[64];

	memset(table, 0xff, sizeof(table));
	EQ(positions_find(table, sizeof(table), 200), POSITION_NONE);
}

TEST(v8_position_has_an_offset_and_an_inlining)
{
	EQ(position_offset(POSITION_NONE), -1);
	EQ(position_inlining(POSITION_NONE), -1);
	EQ(position_offset(24ull << 1), 23);
	EQ(position_offset(24ull << 1 | 1), -1);
	EQ(position_inlining(24ull << 1 | 3ull << 31), 2);
}
