/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of arm64, as far as somebody looks at them: where jumps lead to, and addresses near the code. */
#ifndef EXE_ARM64_INSN_H
#define EXE_ARM64_INSN_H

#include <stdbool.h>

#include "base/types.h"

#define ARM64_RET 0xd65f03c0

/* `count` bits of an instruction from `first` on, as a number with a sign. */
static inline s64 arm64_signed(u32 word, u32 first, u32 count)
{
	u32 above = 32 - first - count;

	return (s64)((s32)(word << above) >> (above + first));
}

/* Where a jump leads to, or 0 if it is none; calls, and what registers say, are not followed. */
static inline u64 arm64_jump(u32 word, u64 ea, bool *ret_is_conditional)
{
	*ret_is_conditional = (word & 0xfc000000) != 0x14000000;
	if (!*ret_is_conditional)							/* b */
		return ea + (u64)arm64_signed(word, 0, 26) * 4;
	if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)	/* b.cond; cbz, cbnz */
		return ea + (u64)arm64_signed(word, 5, 19) * 4;
	if ((word & 0x7e000000) == 0x36000000)						/* tbz, tbnz */
		return ea + (u64)arm64_signed(word, 5, 14) * 4;
	return 0;
}

/* Is it adrp, or adr, to a register? */
static inline bool arm64_is_adrp(u32 word, u32 reg)
{
	return (word & 0x9f00001f) == (0x90000000 | reg);
}

static inline bool arm64_is_adr(u32 word, u32 reg)
{
	return (word & 0x9f00001f) == (0x10000000 | reg);
}

/* What adrp, the address of a page, or adr sets its register to. */
static inline u64 arm64_near(u32 word, u64 ea)
{
	u64 distance = (u64)arm64_signed(word, 5, 19) << 2 | (word >> 29 & 3);

	return word >> 31 ? (ea & ~0xfffull) + (distance << 12) : ea + distance;
}

#endif
