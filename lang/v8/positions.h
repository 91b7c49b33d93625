/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8's tables of source positions. An entry is two numbers, each the difference to the entry before: where the code of
 * the position starts, with flags, and the position.
 */
#ifndef LANG_V8_POSITIONS_H
#define LANG_V8_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

/* A position: bit 0 is set if it is not in a script, then 30 bits of offset + 1, then 16 of inlining + 1. */
#define POSITION_NONE 0

static inline s32 position_offset(u64 position)
{
	return position & 1 ? -1 : (s32)(position >> 1 & 0x3fffffff) - 1;
}

/* The number of what was inlined there, or -1. */
static inline s32 position_inlining(u64 position)
{
	return (s32)(position >> 31 & 0xffff) - 1;
}

/* A number of seven bits a byte, the lowest first; false at the end of the bytes. */
bool positions_number(const u8 **at, const u8 *end, u64 *ret_number);

struct positions {
	const u8 *table;
	size_t bytes;
	u32 flag_bits;		/* lowest bits of the first number; 0: it has a sign instead */
	u32 code_bytes;		/* of what it is of */
};

/*
 * The position of the last entry at or before an offset in the code; POSITION_NONE if there is none, and if the table
 * is of more code than there is: it is not what we take it for.
 */
u64 positions_find(const struct positions *positions, u32 code_offset);

#endif
