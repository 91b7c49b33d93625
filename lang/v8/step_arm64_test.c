// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half as compiled for arm64, on whatever machine this is: its memory is an array. */
#ifndef __aarch64__
#define __TARGET_ARCH_arm64
#endif

#define MEMORY_WORDS 4096
#define STACK_VA (MEMORY_VA + 0x1000)
#define FP_VA (STACK_VA + 0x100)	/* what x29 is */
#define CODE_VA (MEMORY_VA + 0x2000)
#define CALLER_VA (MEMORY_VA + 0x3000)
#define BINARY 7

/* Tagged objects. */
#define MAPS (MEMORY_VA + 0x4000)
#define FUNCTION (MEMORY_VA + 0x5001)
#define SHARED (MEMORY_VA + 0x5101)
#define CONTEXT (MEMORY_VA + 0x5201)
#define BYTECODE (MEMORY_VA + 0x5301)

#include <stdbool.h>

#include "step_host.h"

#include "step.h"

#define NOP 0xd503201f
#define PUSH 0xa9bf7bfd		/* stp x29, x30, [sp, #-16]! */
#define SET_FP 0x910003fd	/* mov x29, sp */
#define POP 0xa8c17bfd		/* ldp x29, x30, [sp], #16 */
#define RET 0xd65f03c0
#define CALL 0x94000010		/* bl */

static struct unwind u;

static void put_word(u64 va, u64 word)
{
	put_bytes(va, &word, sizeof(word));
}

static void put_object(u64 object, u16 type)
{
	u64 map = MAPS + 16ull * (type & 63) + 1;

	put_word(object - 1, map);
	put_bytes(map - 1 + 12, &type, sizeof(type));
}

static struct v8_slot *slot(void)
{
	return (struct v8_slot *)u.slot;
}

/* An interpreted function, interrupted in code that it has called. */
static void setup(u32 binary)
{
	memset(&u, 0, sizeof(u));
	memset(&memory, 0, sizeof(memory));
	for (u32 i = 0x2000 / 4; i < 0x4000 / 4; i++)
		memcpy(memory.byte + i * 4ull, &(u32){ NOP }, 4);
	*slot() = (struct v8_slot){
		.context = 7, .function = 6, .bytecode_array = 4, .bytecode_offset = 3,
		.array_register = 20, .offset_register = 19, .map_type = 12, .shared = 24, .function_data = 8,
		.literal_id = 52, .first_function = 2066, .last_function = 2082, .bytecode_type = 191,
	};
	put_object(FUNCTION, 2066);
	put_object(SHARED, 262);
	put_object(BYTECODE, 191);
	put_word(FUNCTION - 1 + 24, SHARED);
	put_word(SHARED - 1 + 8, BYTECODE);
	put_word(SHARED - 1 + 48, 5ull << 32);
	put_word(FP_VA + 8, CALLER_VA);
	put_word(FP_VA, FP_VA + 0x80);
	put_word(FP_VA - 8, CONTEXT);
	put_word(FP_VA - 16, FUNCTION);
	put_word(FP_VA - 32, BYTECODE);
	put_word(FP_VA - 40, 60ull << 32);
	u.map.binary = binary;
	u.is_leaf = 1;
	u.regs.pc = CODE_VA + 0x100;
	u.regs.reg[REG_SP] = STACK_VA;
	u.regs.reg[REG_FP] = FP_VA;
	u.regs.reg[REG_RA] = CALLER_VA + 0x40;
}

/* Instructions around the interrupted one, which is the one at `at`. */
static void put_code(u32 at, u32 first, u32 second, u32 third)
{
	put_bytes(CODE_VA + 0x100 - at * 4ull, (u32[]){ first, second, third }, 12);
}

static void check_frame(u32 word, u64 kind, u64 shared, u64 value)
{
	OK(u.trace.user_count >= word + 2);
	EQ(u.words[word] & FRAME_LOW_MASK, shared);
	EQ(u.words[word + 1] >> V8_KIND_SHIFT, kind);
	EQ(u.words[word + 1] & V8_VALUE_MASK, value);
}

static void check_caller(u64 pc, u64 fp)
{
	EQ(u.regs.pc, pc);
	EQ(u.regs.reg[REG_FP], fp);
	OK(!u.is_leaf && u.is_return && u.sp_lost);
}

TEST(v8_step_of_arm64_by_the_frame_pointer)
{
	setup(0);
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(0, V8_COMPILED, SHARED, CODE_VA + 0x100);
	check_caller(CALLER_VA, FP_VA + 0x80);
	/* An interrupted handler of the interpreter has the bytecode in registers. */
	setup(BINARY);
	u.regs.reg[20] = BYTECODE;
	u.regs.reg[19] = 77;
	EQ(v8_step(&u), STEP_CALLER);
	EQ(u.words[0] >> FRAME_KIND_SHIFT, FRAME_EXE);
	check_frame(1, V8_INTERPRETED, SHARED, 77);
	check_caller(CALLER_VA, FP_VA + 0x80);
}

TEST(v8_step_of_arm64_without_a_frame)
{
	static const struct { u32 at, first, second, third; bool is_whole; } cases[] = {
		{ 0, PUSH, SET_FP, NOP, false },
		{ 1, PUSH, SET_FP, NOP, false },
		{ 2, PUSH, SET_FP, NOP, true },
		{ 0, NOP, 0xa9017bfd, 0x910043fd, false },	/* stp x29, x30, [sp, #16]; add x29, sp, #16 */
		{ 0, POP, NOP, RET, true },
		{ 1, POP, NOP, RET, false },
		{ 2, POP, NOP, RET, false },
		{ 0, RET, PUSH, SET_FP, false },
		{ 0, NOP, RET, SET_FP, true },			/* that of other code */
		{ 0, NOP, CALL, SET_FP, true },
		{ 2, POP, RET, NOP, true },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(0);
		put_code(cases[i].at, cases[i].first, cases[i].second, cases[i].third);
		u.regs.reg[REG_FUNCTION] = FUNCTION;
		EQ(v8_step(&u), STEP_CALLER);
		check_frame(0, V8_COMPILED, SHARED, CODE_VA + 0x100);
		if (cases[i].is_whole)
			check_caller(CALLER_VA, FP_VA + 0x80);
		else
			check_caller(CALLER_VA + 0x40, FP_VA);
	}
}

/* Built-in code that makes no frame, called from compiled code. */
TEST(v8_step_of_arm64_frameless_builtin)
{
	setup(BINARY);
	put_word(FP_VA - 32, CONTEXT);
	put_bytes(CALLER_VA + 0x3c, &(u32){ CALL }, 4);
	EQ(v8_step(&u), STEP_CALLER);
	EQ(u.trace.user_count, 1);
	check_caller(CALLER_VA + 0x40, FP_VA);
	/* What the register has is no return address. */
	setup(BINARY);
	put_word(FP_VA - 32, CONTEXT);
	EQ(v8_step(&u), STEP_CALLER);
	check_caller(CALLER_VA, FP_VA + 0x80);
	setup(BINARY);
	put_word(FP_VA - 32, CONTEXT);
	u.regs.reg[REG_RA] = 0x1234;
	EQ(v8_step(&u), STEP_CALLER);
	check_caller(CALLER_VA, FP_VA + 0x80);
}
