// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half, compiled for this machine: its memory is an array. */
#include "abi.h"

#if REG_RA == 16	/* leaf_arm64.h has step_arm64_test.c */

#define MEMORY_WORDS 4096
#define STACK_VA (MEMORY_VA + 0x1000)
#define FP_VA (STACK_VA + 0x100)	/* what rbp is */
#define CODE_VA (MEMORY_VA + 0x2000)
#define CALLER_VA (MEMORY_VA + 0x3000)
#define BINARY 7

/* Tagged objects. */
#define MAPS (MEMORY_VA + 0x4000)
#define FUNCTION (MEMORY_VA + 0x5001)
#define SHARED (MEMORY_VA + 0x5101)
#define CONTEXT (MEMORY_VA + 0x5201)
#define BYTECODE (MEMORY_VA + 0x5301)

#include "step_host.h"

#include "step.h"

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

/* An interpreted function, interrupted in code that it has called; all instructions are nops. */
static void setup(u32 binary)
{
	memset(&u, 0, sizeof(u));
	memset(&memory, 0, sizeof(memory));
	memset(memory.byte + 0x2000, 0x90, 0x2000);
	*slot() = (struct v8_slot){
		.context = 7, .function = 6, .bytecode_array = 4, .bytecode_offset = 3,
		.array_register = 12, .offset_register = 9, .map_type = 12, .shared = 24, .function_data = 8,
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
	u.is_return = 1;
	u.regs.pc = CODE_VA;
	u.regs.reg[REG_SP] = STACK_VA;
	u.regs.reg[REG_FP] = FP_VA;
}

static void make_leaf(const void *code, size_t bytes)
{
	u.is_leaf = 1;
	u.is_return = 0;
	put_bytes(u.regs.pc, code, bytes);
}

static void check_frame(u32 word, u64 kind, u64 shared, u64 value)
{
	OK(u.trace.user_count >= word + 2);
	EQ(u.words[word] >> FRAME_KIND_SHIFT, FRAME_RUNTIME);
	EQ(u.words[word] >> FRAME_LANG_SHIFT & 0xff, LANG_V8);
	EQ(u.words[word] & FRAME_LOW_MASK, shared);
	EQ(u.words[word + 1] >> V8_KIND_SHIFT, kind);
	EQ(u.words[word + 1] >> V8_COOKIE_SHIFT & V8_COOKIE_MASK, shared ? 5 : 0);
	EQ(u.words[word + 1] & V8_VALUE_MASK, value);
}

static void check_native(u32 word)
{
	OK(u.trace.user_count > word);
	EQ(u.words[word] >> FRAME_KIND_SHIFT, FRAME_EXE);
}

static void check_caller(u64 pc, u64 sp, u64 fp)
{
	EQ(u.regs.pc, pc);
	EQ(u.regs.reg[REG_SP], sp);
	EQ(native_fp(&u), 0);
	EQ(u.regs.reg[REG_FP], fp);
	OK(!u.is_leaf && u.is_return);
}

TEST(v8_step_interpreted)
{
	setup(BINARY);
	EQ(v8_step(&u), STEP_CALLER);
	EQ(u.trace.user_count, 2);
	check_frame(0, V8_INTERPRETED, SHARED, 60);
	check_caller(CALLER_VA, FP_VA + 16, FP_VA + 0x80);
}

/* The offset that was saved is that of the last call. */
TEST(v8_step_interrupted_handler)
{
	setup(BINARY);
	make_leaf("\x90", 1);
	u.regs.reg[12] = BYTECODE;
	u.regs.reg[9] = 77;
	EQ(v8_step(&u), STEP_CALLER);
	check_native(0);
	check_frame(1, V8_INTERPRETED, SHARED, 77);
	setup(BINARY);
	make_leaf("\x90", 1);
	u.regs.reg[9] = 77;
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(1, V8_INTERPRETED, SHARED, 60);
}

TEST(v8_step_compiled)
{
	setup(0);
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(0, V8_COMPILED, SHARED, CODE_VA - 1);
	check_caller(CALLER_VA, FP_VA + 16, FP_VA + 0x80);
	setup(0);
	make_leaf("\x90", 1);
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(0, V8_COMPILED, SHARED, CODE_VA);
}

/* What is no function is not sent as one. */
TEST(v8_step_of_no_function)
{
	setup(0);
	put_object(FUNCTION, 2100);
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(0, V8_COMPILED, 0, CODE_VA - 1);
	setup(BINARY);
	put_object(BYTECODE, 190);
	EQ(v8_step(&u), STEP_CALLER);
	EQ(u.trace.user_count, 1);
	check_native(0);
}

TEST(v8_step_stub)
{
	setup(0);
	put_word(FP_VA - 8, 4 << 1);
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(0, V8_STUB, 0, 4);
	setup(BINARY);
	put_word(FP_VA - 8, 17 << 1);
	EQ(v8_step(&u), STEP_CALLER);
	check_native(0);
	check_caller(CALLER_VA, FP_VA + 16, FP_VA + 0x80);
}

/* Before push rbp, behind it, and at the ret: the frame pointer is the caller's. */
TEST(v8_step_half_built)
{
	static const u8 before[] = { 0x90, 0x90, 0x55, 0x48, 0x89, 0xe5 }, behind[] = { 0x55, 0x48, 0x8b, 0xec };

	setup(0);
	make_leaf(before, sizeof(before));
	u.regs.reg[REG_FUNCTION] = FUNCTION;
	put_word(STACK_VA, CALLER_VA);
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(0, V8_COMPILED, SHARED, CODE_VA);
	check_caller(CALLER_VA, STACK_VA + 8, FP_VA);

	setup(0);
	make_leaf(behind, sizeof(behind));
	u.regs.pc++;
	put_word(STACK_VA, FP_VA + 8);
	put_word(STACK_VA + 8, CALLER_VA);
	EQ(v8_step(&u), STEP_CALLER);
	check_frame(0, V8_COMPILED, 0, CODE_VA + 1);
	check_caller(CALLER_VA, STACK_VA + 16, FP_VA + 8);

	setup(BINARY);
	make_leaf("\xc3", 1);
	put_word(STACK_VA, CALLER_VA);
	EQ(v8_step(&u), STEP_CALLER);
	EQ(u.trace.user_count, 1);
	check_native(0);
	check_caller(CALLER_VA, STACK_VA + 8, FP_VA);
}

/* The code of another stub, behind the end of this one, says nothing. */
TEST(v8_step_before_other_code)
{
	static const u8 code[] = { 0x90, 0xcc, 0xcc, 0x55, 0x48, 0x89, 0xe5 };

	setup(0);
	make_leaf(code, sizeof(code));
	EQ(v8_step(&u), STEP_CALLER);
	check_caller(CALLER_VA, FP_VA + 16, FP_VA + 0x80);
}

TEST(v8_step_frameless_builtin)
{
	setup(BINARY);
	put_word(FP_VA - 32, CONTEXT);
	make_leaf("\x90", 1);
	put_bytes(CALLER_VA + 0x100 - 5, "\xe8", 1);
	put_word(STACK_VA, CALLER_VA + 0x100);
	EQ(v8_step(&u), STEP_CALLER);
	EQ(u.trace.user_count, 1);
	check_native(0);
	check_caller(CALLER_VA + 0x100, STACK_VA + 8, FP_VA);
	/* A built-in function has its own frame, whatever lies on the stack. */
	setup(BINARY);
	put_word(FP_VA - 32, CONTEXT);
	put_word(SHARED - 1 + 8, 500ull << 32);
	make_leaf("\x90", 1);
	put_bytes(CALLER_VA + 0x100 - 5, "\xe8", 1);
	put_word(STACK_VA, CALLER_VA + 0x100);
	EQ(v8_step(&u), STEP_CALLER);
	check_caller(CALLER_VA, FP_VA + 16, FP_VA + 0x80);
}

TEST(v8_step_of_an_impossible_frame)
{
	setup(0);
	u.regs.reg[REG_FP] = STACK_VA - 64;
	EQ(v8_step(&u), STEP_END);
	EQ(u.trace.end, END_RUNTIME);
	setup(0);
	u.regs.reg[REG_FP] = FP_VA + 1;
	EQ(v8_step(&u), STEP_END);
	setup(0);
	u.regs.reg[REG_FP] = MEMORY_VA + sizeof(memory);
	EQ(v8_step(&u), STEP_END);
	EQ(u.trace.end, END_UNREADABLE);
	setup(0);
	put_word(FP_VA + 8, 0);
	EQ(v8_step(&u), STEP_END);
	EQ(u.trace.end, END_NO_ROOT);
}

#endif
