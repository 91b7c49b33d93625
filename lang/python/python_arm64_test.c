// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half as compiled for arm64, on whatever machine this is: a run of the loop whose stack pointer is lost. */
#ifndef __aarch64__
#define __TARGET_ARCH_arm64
#endif

#define MEMORY_WORDS 1024
#define THREAD_POINTER (MEMORY_VA + 0x100)
#define THREAD_VA (MEMORY_VA + 0x200)
#define FRAME (MEMORY_VA + 0x300)
#define CODE (MEMORY_VA + 0x400)
#define STACK_VA (MEMORY_VA + 0x1000)
#define RECORD (STACK_VA + 0x40)	/* where x29 points to */
#define SHIM (RECORD + 0x80)
#define ABOVE (RECORD + 0x200)		/* the record of the caller */

#include "step_host.h"

static u64 walk_thread_pointer(void)
{
	return THREAD_POINTER;
}

static void python_keep(u64 code, u64 cookie, u64 file_va)
{
}

#include "lang/python/python_step.h"

static struct unwind u;

static void put(u64 va, u64 word)
{
	put_bytes(va, &word, sizeof(word));
}

static void setup(void)
{
	memset(&u, 0, sizeof(u));
	memset(&memory, 0, sizeof(memory));
	*(struct python_slot *)u.slot = (struct python_slot){
		.frames = PYTHON_SHIMS, .self = -0x80ull, .tsd = -0x20ull, .thread_id = 0x10, .top = 0x18,
		.frame_previous = 8, .frame_instruction = 56, .frame_owner = 70, .code_file = 8, .code_name = 16,
		.code_start = 0x60, .code_mask = ~3ull,
	};
	put(THREAD_POINTER - 0x20, THREAD_VA);
	put(THREAD_VA + 0x10, THREAD_POINTER - 0x80);
	put(THREAD_VA + 0x18, FRAME);
	put(FRAME, CODE);
	put(FRAME + 8, SHIM);
	put(SHIM + 64, 3ull << 48);
	put(CODE + 8, 0x1000);
	put(CODE + 16, 0x2000);
	put(RECORD, ABOVE);
	u.regs.reg[REG_SP] = STACK_VA;
	u.regs.reg[REG_FP] = RECORD;
	u.sp_lost = 1;
}

TEST(python_step_of_arm64_goes_by_frame_records_where_sp_is_lost)
{
	static const struct unwind_rule rules[] = {
		{ .kind = RULE_CFA, .cfa_reg = REG_SP, .cfa_off = 0x10, .ra_off = -8 },
		{ .kind = RULE_FRAME },
	};

	for (u32 i = 0; i < 2; i++) {
		setup();
		EQ(runtime_step(&u, &rules[i]), STEP_UNWIND);
		EQ(u.trace.user_count, 2);
		EQ(u.words[1], CODE);
		/* What is kept of the run lies in the frame of another. */
		setup();
		put(RECORD, SHIM - 16);
		EQ(runtime_step(&u, &rules[i]), STEP_NATIVE);
		EQ(u.trace.user_count, 0);
	}
	setup();
	u.sp_lost = 0;
	EQ(runtime_step(&u, &rules[0]), STEP_NATIVE);
}
