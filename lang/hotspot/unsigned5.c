// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/unsigned5.h"

#include "lang/memory.h"

#define BYTES_MAX 5
#define HIGH_SHIFT 6	/* 64 of the 256 values say that there is more */

u32 unsigned5_next(struct unsigned5 *s)
{
	u32 low = s->no_zero ? 1 : 0, last = 256 - (1u << HIGH_SHIFT), sum = 0;

	for (u32 i = 0; i < BYTES_MAX; i++) {
		u32 byte = memory_u8(s->memory, s->va++);

		if (byte < low)
			return sum;	/* the end of what was written */
		sum += (byte - low) << HIGH_SHIFT * i;
		if (byte < last)
			break;
	}
	return sum;
}

s32 unsigned5_next_signed(struct unsigned5 *s)
{
	u32 value = unsigned5_next(s);

	return (s32)(value >> 1 ^ -(value & 1));
}
