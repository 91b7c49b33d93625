// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/baseline.h"

#include "test.h"

/* Bytecode 4 has 1 byte, 5 has 2, 3 and 5; the prefixes have 1. */
static const u8 array[] = { 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 5 };
static const u8 bytecode[] = { 4, 5, 0, 0, 5, 0, 0, 1, 5, 0, 0, 0, 0, 4 };
/* The entry has 16 bytes, then 4, 8, 0, 200 and 5. */
static const u8 table[] = { 16, 4, 8, 0, 0xc8, 0x01, 5 };

static s64 find(u32 code_offset)
{
	struct baseline_sizes sizes;

	baseline_sizes_set(&sizes, array, sizeof(array));
	return baseline_bytecode(&sizes, bytecode, sizeof(bytecode), table, sizeof(table), code_offset);
}

TEST(v8_baseline_code_leads_to_its_bytecode)
{
	EQ(find(0), -1);
	EQ(find(15), -1);
	EQ(find(16), 0);
	EQ(find(19), 0);
	EQ(find(20), 1);
	EQ(find(27), 1);
	EQ(find(28), 7);	/* the one that became nothing is passed over */
	EQ(find(227), 7);
	EQ(find(228), 13);
	EQ(find(232), 13);
	EQ(find(233), -1);
}

TEST(v8_baseline_code_of_what_is_no_bytecode)
{
	static const u8 unknown[] = { 6, 4 }, cut[] = { 0 };
	struct baseline_sizes sizes;

	baseline_sizes_set(&sizes, array, sizeof(array));
	EQ(baseline_bytecode(&sizes, unknown, sizeof(unknown), table, sizeof(table), 20), -1);
	EQ(baseline_bytecode(&sizes, cut, sizeof(cut), table, sizeof(table), 20), -1);
	EQ(baseline_bytecode(&sizes, bytecode, sizeof(bytecode), table, 2, 20), -1);
	EQ(baseline_bytecode(&sizes, bytecode, sizeof(bytecode), table, 0, 0), -1);
	baseline_sizes_set(&sizes, array, 4);
	EQ(sizes.count, 0);
	EQ(baseline_bytecode(&sizes, bytecode, sizeof(bytecode), table, sizeof(table), 16), -1);
}
