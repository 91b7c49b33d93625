/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's compressed numbers: five bytes of base 64, the lowest first; a byte that is small enough is the last.
 * Since JDK 20 no byte is 0, and all that is written is 1 more.
 */
#ifndef LANG_HOTSPOT_UNSIGNED5_H
#define LANG_HOTSPOT_UNSIGNED5_H

#include <stdbool.h>

#include "base/types.h"

struct memory;

struct unsigned5 {
	struct memory *memory;
	u64 va;			/* of the next byte */
	bool no_zero;		/* as since JDK 20 */
};

u32 unsigned5_next(struct unsigned5 *stream);

/* With its sign in the lowest bit. */
s32 unsigned5_next_signed(struct unsigned5 *stream);

#endif
