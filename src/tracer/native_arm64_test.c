// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The native unwinder as compiled for arm64, on whatever machine this is. */
#ifndef __aarch64__
#define __TARGET_ARCH_arm64
#endif

#define MEMORY_WORDS 16

#include "step_host.h"

#include "native.h"

static struct unwind u;

TEST(native_of_arm64_does_not_take_a_missing_record_for_the_end)
{
	memset(&memory, 0, sizeof(memory));
	memset(&u, 0, sizeof(u));
	u.is_return = 1;
	u.regs.reg[REG_SP] = MEMORY_VA;
	EQ(native_caller(&u, NULL), -1);
	EQ(u.trace.end, END_NO_RULE);
	u.regs.reg[REG_FP] = 8;
	EQ(native_caller(&u, NULL), -1);
	EQ(u.trace.end, END_NO_RULE);
	u.regs.reg[REG_FP] = MEMORY_VA + 16;
	EQ(native_caller(&u, NULL), -1);
	EQ(u.trace.end, END_NO_RULE);
}

TEST(native_of_arm64_knows_calls)
{
	static const struct {
		u32 insn;
		int is_call;
	} table[] = {
		{ 0x94000010, 1 }, { 0x97ffffff, 1 }, { 0xd63f0020, 1 },	/* bl; bl; blr x1 */
		{ 0xd63f0bff, 1 }, { 0xd73f0822, 1 },				/* blraaz; blraa */
		{ 0x14000010, 0 }, { 0xd61f0020, 0 }, { 0xd65f03c0, 0 }, { 0, 0 },	/* b; br; ret */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		put_bytes(MEMORY_VA + 8, &table[i].insn, 4);
		EQ(native_behind_call(&u, MEMORY_VA + 12), table[i].is_call);
	}
	EQ(native_behind_call(&u, 0x1000), BEHIND_CALL_UNKNOWN);
}
