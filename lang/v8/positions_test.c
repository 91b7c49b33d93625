// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/positions.h"

#include "test.h"

static u64 find(const u8 *table, size_t bytes, u32 flag_bits, u32 code_offset)
{
	struct positions p = { table, bytes, flag_bits, 210 };

	return positions_find(&p, code_offset);
}

TEST(v8_positions_hold_from_their_code_on)
{
	/* Code 3, position 10; an expression, code 8, position 4; code 200, position 100. They start before 0. */
	static const u8 signs[] = { 4 << 1, 10 << 1, (6 << 1) - 1, (6 << 1) - 1, 0x80, 0x03, 0xc0, 0x01 };
	static const u8 flags[] = { 4 << 2 | 1, 10 << 1, 5 << 2 | 2, (6 << 1) - 1, 0x80, 0x06, 0xc0, 0x01 };

	for (u32 bits = 0; bits <= 2; bits += 2) {
		const u8 *table = bits ? flags : signs;

		EQ(find(table, sizeof(signs), bits, 2), POSITION_NONE);
		EQ(find(table, sizeof(signs), bits, 3), 10);
		EQ(find(table, sizeof(signs), bits, 7), 10);
		EQ(find(table, sizeof(signs), bits, 8), 4);
		EQ(find(table, sizeof(signs), bits, 199), 4);
		EQ(find(table, sizeof(signs), bits, 200), 100);
		/* Cut off within an entry. */
		EQ(find(table, sizeof(signs) - 1, bits, 200), 4);
		EQ(find(table, 0, bits, 200), POSITION_NONE);
	}
	/* Taken for the other kind, it is of more code than there is. */
	EQ(find(flags, sizeof(flags), 0, 8), POSITION_NONE);
}

TEST(v8_positions_that_do_not_end)
{
	u8 table[64];

	memset(table, 0xff, sizeof(table));
	EQ(find(table, sizeof(table), 0, 200), POSITION_NONE);
	table[9] = 0x01;
	table[19] = 0x01;
	EQ(find(table, sizeof(table), 0, 200), POSITION_NONE);
	EQ(find(table, sizeof(table), 2, 200), POSITION_NONE);
}

TEST(v8_position_has_an_offset_and_an_inlining)
{
	EQ(position_offset(POSITION_NONE), -1);
	EQ(position_inlining(POSITION_NONE), -1);
	EQ(position_offset(24ull << 1), 23);
	EQ(position_offset(24ull << 1 | 1), -1);
	EQ(position_inlining(24ull << 1 | 3ull << 31), 2);
}
