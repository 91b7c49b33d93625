// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half as compiled for arm64, on whatever machine this is: its memory is an array. */
#ifndef __aarch64__
#define __TARGET_ARCH_arm64
#endif

#include <stdbool.h>

#define MEMORY_WORDS 8192
#define STACK_VA  (MEMORY_VA + 0x1000)
#define CODE_VA   (MEMORY_VA + 0x4000)	/* 32 KiB */
#define CODE_END  (MEMORY_VA + 0xc000)
#define SEGMAP_VA (MEMORY_VA + 0x2000)
#define METHOD_VA (MEMORY_VA + 0x3000)
#define CONST_VA  (MEMORY_VA + 0x3100)
#define NAMES_VA  (MEMORY_VA + 0x3800)
#define INTERPRETER CODE_VA
#define INTERPRETER_END (CODE_VA + 0x400)
#define BLOB      (CODE_VA + 0x1010)
#define BLOB_CODE (BLOB + 0x80)
#define CALLER    (CODE_VA + 0x2000)
#define WORDS 4			/* of the blob's frames */
#define COMPLETE 8		/* bytes of its prologue */

#include "step_host.h"

#include "native.h"
#include "step.h"

#define NOP 0xd503201f
#define LOWER 0xd10083ff	/* sub sp, sp, #0x20 */
#define SAVE 0xa9017bfd		/* stp x29, x30, [sp, #16] */
#define RESTORE 0xa9417bfd	/* ldp x29, x30, [sp, #16] */
#define RAISE 0x910083ff	/* add sp, sp, #0x20 */
#define POP 0xa8c17bfd		/* ldp x29, x30, [sp], #16 */
#define PUSH 0xa9bf7bfd		/* stp x29, x30, [sp, #-16]! */

static struct unwind u;

static u64 *word_at(u64 va)
{
	return &memory.word[(va - MEMORY_VA) / 8];
}

static struct hotspot_slot *slot(void)
{
	return (struct hotspot_slot *)u.slot;
}

static void setup(void)
{
	memset(&u, 0, sizeof(u));
	memset(&memory, 0, sizeof(memory));
	*slot() = (struct hotspot_slot){
		.heap = { { CODE_VA, CODE_END, SEGMAP_VA } },
		.code_start_va = CODE_VA, .code_end_va = CODE_END,
		.interpreter_start_va = INTERPRETER, .interpreter_end_va = INTERPRETER_END,
		.entry = { { 0x40, 0x80 } },
		.call_stub_va = CODE_VA + 0x2100,
		.segment_shift = 6, .block_bytes = 16,
		.name = 8, .frame_size = 20, .frame_complete = 16, .code_begin = 24, .code_is_pointer = 1,
		.compile_id = 128, .const_method = 8, .bcp_slot = 8,
		.piece_at = 128, .piece_bytes = 16, .word_at = 16, .read_id = 0, .read_deopt = HOTSPOT_NOT_READ,
		.read_frame_size = HOTSPOT_PIECE_BYTES + 4,
	};
	for (u32 i = 0; i < 64; i++)
		memory.byte[SEGMAP_VA - MEMORY_VA + 64 + i] = (u8)i;	/* the blob */
	*word_at(BLOB + 8) = NAMES_VA;
	*word_at(BLOB + 16) = COMPLETE | (u64)WORDS << 32;
	*word_at(BLOB + 24) = BLOB_CODE;
	put_bytes(NAMES_VA, "nmethod", 8);
	*word_at(METHOD_VA + 8) = CONST_VA;
	u.is_leaf = 1;
	u.regs.pc = BLOB_CODE + 0x100;
	u.regs.reg[REG_SP] = STACK_VA;
	u.regs.reg[REG_FP] = 0x1234;
	u.regs.reg[REG_RA] = CALLER;
}

static void check_caller(u64 pc, u64 sp, u64 fp)
{
	EQ(u.regs.pc, pc);
	EQ(u.regs.reg[REG_SP], sp);
	EQ(native_fp(&u), 0);
	EQ(u.regs.reg[REG_FP], fp);
	OK(!u.is_leaf && u.is_return && !u.sp_lost);
}

TEST(hotspot_of_arm64_walks_a_compiled_frame_by_its_size)
{
	setup();
	*word_at(STACK_VA + 16) = 0x5678;
	*word_at(STACK_VA + 24) = CALLER + 0x40;
	EQ(hotspot_step(&u), STEP_CALLER);
	EQ(u.words[0] & FRAME_LOW_MASK, BLOB);
	check_caller(CALLER + 0x40, STACK_VA + 32, 0x5678);
	/* Nothing says where it begins. */
	setup();
	u.sp_lost = 1;
	EQ(hotspot_step(&u), STEP_END);
	EQ(u.trace.end, END_RUNTIME);
}

TEST(hotspot_of_arm64_knows_how_far_a_frame_is_built)
{
	static const u32 small[] = { LOWER, SAVE, NOP }, large[] = { PUSH, 0xcb2963ff, NOP };
	static const u32 small_bytes[] = { 0, 32 }, large_bytes[] = { 0, 16 };

	for (u32 i = 0; i < 2; i++) {
		setup();
		put_bytes(BLOB_CODE, small, sizeof(small));
		u.regs.pc = BLOB_CODE + i * 4;
		EQ(hotspot_step(&u), STEP_CALLER);
		check_caller(CALLER, STACK_VA + small_bytes[i], 0x1234);
		setup();
		put_bytes(BLOB_CODE, large, sizeof(large));
		u.regs.pc = BLOB_CODE + i * 4;
		EQ(hotspot_step(&u), STEP_CALLER);
		check_caller(CALLER, STACK_VA + large_bytes[i], 0x1234);
	}
}

TEST(hotspot_of_arm64_knows_how_far_a_frame_is_gone)
{
	static const struct { u32 code[4]; u32 at, bytes; bool is_whole; } cases[] = {
		{ { RESTORE, RAISE, NOP, ARM64_RET_WORD }, 0, 0, true },
		{ { RESTORE, RAISE, NOP, ARM64_RET_WORD }, 1, 32, false },
		{ { RESTORE, RAISE, NOP, ARM64_RET_WORD }, 2, 0, false },
		{ { RESTORE, RAISE, NOP, ARM64_RET_WORD }, 3, 0, false },
		{ { NOP, POP, NOP, ARM64_RET_WORD }, 2, 0, false },
		{ { RESTORE, RAISE, ARM64_RET_WORD, NOP }, 3, 0, true },	/* reached in another way */
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup();
		put_bytes(BLOB_CODE + 0x100, cases[i].code, sizeof(cases[i].code));
		u.regs.pc = BLOB_CODE + 0x100 + cases[i].at * 4;
		*word_at(STACK_VA + 16) = 0x5678;
		*word_at(STACK_VA + 24) = CALLER + 0x40;
		EQ(hotspot_step(&u), STEP_CALLER);
		if (cases[i].is_whole)
			check_caller(CALLER + 0x40, STACK_VA + 32, 0x5678);
		else
			check_caller(CALLER, STACK_VA + cases[i].bytes, 0x1234);
	}
}

TEST(hotspot_of_arm64_walks_interpreted_frames)
{
	setup();
	u.regs.pc = INTERPRETER + 0x200;
	u.regs.reg[REG_FP] = STACK_VA + 0x80;
	u.regs.reg[REG_BYTECODE] = CONST_VA + 100;
	*word_at(STACK_VA + 0x88) = CALLER + 0x40;
	*word_at(STACK_VA + 0x80) = 0x5678;
	*word_at(STACK_VA + 0x78) = STACK_VA + 0xa0;
	*word_at(STACK_VA + 0x68) = METHOD_VA;
	EQ(hotspot_step(&u), STEP_CALLER);
	EQ(u.words[0] & FRAME_LOW_MASK, METHOD_VA);
	EQ(u.words[1] & HOTSPOT_VA_MASK, CONST_VA + 100);
	check_caller(CALLER + 0x40, STACK_VA + 0xa0, 0x5678);
	/* Without a frame yet: what has called it left its own sp in a register, by the version. */
	for (u32 i = 0; i < 3; i++) {
		setup();
		u.regs.pc = INTERPRETER + 0x50;
		u.regs.reg[REG_METHOD] = METHOD_VA;
		if (i)
			u.regs.reg[i == 1 ? REG_SENDER : REG_SENDER_LATER] = STACK_VA + 0x40;
		EQ(hotspot_step(&u), STEP_CALLER);
		EQ(u.words[0] & FRAME_LOW_MASK, METHOD_VA);
		check_caller(CALLER, STACK_VA + (i ? 0x40 : 0), 0x1234);
	}
	setup();
	u.regs.pc = INTERPRETER + 0x50;
	u.regs.reg[REG_RA] = 0x1234;
	EQ(hotspot_step(&u), STEP_END);
	EQ(u.trace.end, END_RUNTIME);
}

TEST(hotspot_of_arm64_walks_stubs_without_a_size)
{
	for (u32 has_record = 0; has_record < 2; has_record++) {
		setup();
		*word_at(BLOB + 16) = 0;
		put_bytes(NAMES_VA, "StubRoutines (1)", 17);
		u.regs.reg[REG_FP] = STACK_VA + 0x40;
		*word_at(STACK_VA + 0x40) = 0x5678;
		*word_at(STACK_VA + 0x48) = has_record ? CALLER : CALLER + 8;
		EQ(hotspot_step(&u), STEP_CALLER);
		if (has_record)
			check_caller(CALLER, STACK_VA + 0x50, 0x5678);
		else
			check_caller(CALLER, STACK_VA, STACK_VA + 0x40);
	}
}

TEST(hotspot_of_arm64_stops_in_memory_that_makes_no_sense)
{
	u64 seed = 12345;

	for (u32 round = 0; round < 1000; round++) {
		u32 steps = 0;

		setup();
		for (u32 i = 0; i < 200; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* Half of them are addresses: of code, or of the stack. */
			memory.word[seed >> 40 & (MEMORY_WORDS - 1)] =
				seed >> 60 & 1 ? MEMORY_VA + (seed >> 20 & 0xffff) : seed;
		}
		u.regs.pc = CODE_VA + (seed >> 33 & 0x7ffc);
		while (hotspot_step(&u) == STEP_CALLER && steps++ < 4096)
			;
		OK(steps < 4096);	/* sp goes up with each */
		OK(u.trace.user_count <= USER_WORDS_MAX);
	}
}
