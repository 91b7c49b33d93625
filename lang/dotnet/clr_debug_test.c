// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_debug.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "forge_damage.h"
#include "lang/lang.h"
#include "lang/memory.h"
#include "test.h"

#define NONE 0xfffffffe

/* The IL offset of the code at an offset, by bytes of our own; NONE: it does not say. */
static u32 find(struct clr_debug_format format, const void *bytes, u32 native)
{
	struct lang_process process = { .pid = (u32)getpid() };
	static struct memory m;
	u32 il = NONE;

	memory_begin(&m, &process);
	if (clr_debug_find(&m, &format, (u64)(uintptr_t)bytes, native, &il) < 0)
		return NONE;
	return il;
}

static void check(struct clr_debug_format format, const void *bytes)
{
	EQ(find(format, bytes, 0), 0);
	EQ(find(format, bytes, 48), 0);
	EQ(find(format, bytes, 49), 21);
	EQ(find(format, bytes, 59), 21);
	EQ(find(format, bytes, 60), CLR_DEBUG_END);
	EQ(find(format, bytes, UINT32_MAX), CLR_DEBUG_END);
}

/* Each says: from 0 on the prologue, from 49 on 21, from 60 on the epilogue. */
TEST(clr_debug_reads_bounds_of_each_version)
{
	static const u8 nibbles[] = "\x00\x07\x03\x21\x1e\x0b\x92\x03\x02";
	static const u8 packed[] = "\x00\x07\x53\x04\x02\xc1\x18\xbb\x00";
	static const u8 slim[] = "\x09\x00\x53\x04\x02\x82\x62\xac\x05";
	static const u8 fat[] = "\x90\x00\x00\x00\x53\x04\x02\x82\x62\xac\x05";

	check((struct clr_debug_format){ CLR_DEBUG_NIBBLES, true, 32 }, nibbles);
	check((struct clr_debug_format){ CLR_DEBUG_NIBBLES, false, 0 }, nibbles + 1);
	check((struct clr_debug_format){ CLR_DEBUG_PACKED, true, 40 }, packed);
	check((struct clr_debug_format){ CLR_DEBUG_PACKED, false, 0 }, packed + 1);
	check((struct clr_debug_format){ CLR_DEBUG_FAT, false, 0 }, slim);
	check((struct clr_debug_format){ CLR_DEBUG_FAT, false, 0 }, fat);
}

/* What a method keeps for being replaced while it runs stands before its bounds: of 8 and 10, as they were met. */
TEST(clr_debug_passes_over_state_for_replacement)
{
	u8 eight[128] = { 1, 0x20 }, ten[128] = { 1, 0x20 };
	u32 locals = 3;

	memcpy(eight + 1 + 8, &locals, 4);
	memcpy(eight + 1 + 32 + 12, "\x07\x03\x21\x1e\x0b\x92\x03\x02", 8);
	check((struct clr_debug_format){ CLR_DEBUG_NIBBLES, true, 32 }, eight);
	memcpy(ten + 1 + 16, &locals, 4);
	memcpy(ten + 1 + 40 + 12, "\x07\x53\x04\x02\xc1\x18\xbb\x00", 8);
	check((struct clr_debug_format){ CLR_DEBUG_PACKED, true, 40 }, ten);
	locals = 0x10000000;
	memcpy(ten + 1 + 16, &locals, 4);
	EQ(find((struct clr_debug_format){ CLR_DEBUG_PACKED, true, 40 }, ten, 49), NONE);
	ten[0] = 2;
	EQ(find((struct clr_debug_format){ CLR_DEBUG_PACKED, true, 40 }, ten, 49), NONE);
}

/* From 0 on nothing, from 5 on 7, from 6 on nothing again. */
TEST(clr_debug_has_what_comes_from_nowhere_belong_to_what_is_before)
{
	static const u8 bytes[] = "\x06\x03\x02\x95\x22\x21\x00";
	struct clr_debug_format format = { CLR_DEBUG_NIBBLES, false, 0 };

	EQ(find(format, bytes, 0), NONE);
	EQ(find(format, bytes, 4), NONE);
	EQ(find(format, bytes, 5), 7);
	EQ(find(format, bytes, 6), 7);
	EQ(find(format, bytes, 600), 7);
}

TEST(clr_debug_that_says_nothing)
{
	static const u8 empty[16], long_one[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
	static const u8 wide[] = "\x07\xf3\xf7\x07\x02\xc1\x18\xbb\x00";

	for (u32 kind = CLR_DEBUG_NIBBLES; kind <= CLR_DEBUG_FAT; kind++) {
		EQ(find((struct clr_debug_format){ (u8)kind, false, 0 }, empty, 0), NONE);
		EQ(find((struct clr_debug_format){ (u8)kind, true, 32 }, empty, 0), NONE);
		EQ(find((struct clr_debug_format){ (u8)kind, false, 0 }, long_one, 0), NONE);
		EQ(find((struct clr_debug_format){ (u8)kind, false, 0 }, NULL, 0), NONE);
	}
	EQ(find((struct clr_debug_format){ CLR_DEBUG_PACKED, false, 0 }, wide, 0), NONE);
}

TEST(clr_debug_survives_any_bytes)
{
	u64 random = 1;

	for (u32 i = 0; i < 3000; i++) {
		u8 bytes[64];

		forge_random(&random, bytes, sizeof(bytes));
		(void)find((struct clr_debug_format){ (u8)(i % 3), i / 3 % 2, i % 2 ? 32 : 40 }, bytes, i * 7);
	}
}
