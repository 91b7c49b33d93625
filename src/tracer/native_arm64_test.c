// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The native unwinder as compiled for arm64, on whatever machine this is. */
#ifndef __aarch64__
#define __TARGET_ARCH_arm64
#endif

#define MEMORY_WORDS 16

#include "step_host.h"

#include "native.h"

static struct unwind u;

TEST(native_of_arm64_ends_where_no_record_is_above)
{
	memset(&memory, 0, sizeof(memory));
	memset(&u, 0, sizeof(u));
	u.is_return = 1;
	u.regs.reg[REG_SP] = MEMORY_VA;
	EQ(native_caller(&u, NULL), -1);
	EQ(u.trace.end, END_COMPLETE);
	/* An interrupted function may have anything there. */
	u.is_leaf = 1;
	EQ(native_caller(&u, NULL), -1);
	EQ(u.trace.end, END_NO_RULE);
	u.is_leaf = 0;
	u.regs.reg[REG_FP] = 8;
	EQ(native_caller(&u, NULL), -1);
	EQ(u.trace.end, END_NO_RULE);
	u.regs.reg[REG_FP] = MEMORY_VA + 16;
	EQ(native_caller(&u, NULL), -1);
	EQ(u.trace.end, END_COMPLETE);
}
