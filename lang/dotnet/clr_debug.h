/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiler has written down of a method: which of its code comes from where in its IL. Compiled methods and
 * images that were compiled before pack it alike (src/coreclr/vm/debuginfostore.cpp of dotnet/runtime):
 *
 *	flags		a byte, of compiled methods up to 10: what follows it. 1: state for on-stack replacement
 *	sizes		of the bounds and the variables; since 11, after a zero, of six parts
 *	bounds		how many, then for each: native offset less the last one's, IL offset + 3, flags
 *
 * Numbers are of nibbles with three bits each, the highest first; since 10 bounds are of as many bits as the largest
 * needs, flags lowest.
 */
#ifndef LANG_DOTNET_CLR_DEBUG_H
#define LANG_DOTNET_CLR_DEBUG_H

#include <stdbool.h>

#include "base/types.h"

struct memory;

enum clr_debug_kind {
	CLR_DEBUG_NIBBLES,
	CLR_DEBUG_PACKED,	/* 10 */
	CLR_DEBUG_FAT,		/* 11 */
};

struct clr_debug_format {
	u8 kind;
	bool has_flags;
	u8 replacement_bytes;	/* of the state for on-stack replacement, without its variables */
};

#define CLR_DEBUG_END 0xffffffffu	/* as an offset in IL: where the method ends */

/* The IL offset of the code at an offset of the method: 0, -ENODATA if it does not say, or the memory's error. */
int clr_debug_find(struct memory *memory, const struct clr_debug_format *format, u64 va, u32 native, u32 *ret_il);

#endif
