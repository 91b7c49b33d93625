// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half, compiled for this machine: its memory is an array. */
#include <stdbool.h>

#include "abi.h"

#if REG_RA == 16

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

#include "step_host.h"

#include "native.h"
#include "step.h"

static struct unwind u;

static u64 *word_at(u64 va)
{
	return &memory.word[(va - MEMORY_VA) / 8];
}

static struct hotspot_slot *slot(void)
{
	return (struct hotspot_slot *)u.slot;
}

static void name_blob(const char *name)
{
	put_bytes(NAMES_VA, name, strlen(name) + 1);
}

/* An nmethod of 4 words a frame, whose code has made it at byte 16. */
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
		.compile_id = 128, .deopt_is_pointer = 1, .orig_pc = 144, .const_method = 8,
		.piece_at = 128, .piece_bytes = 16, .word_at = 16, .read_id = 0, .read_deopt = 8,
		.read_frame_size = HOTSPOT_PIECE_BYTES + 4,
		.bcp_slot = 8,
	};
	for (u32 i = 0; i < 64; i++)
		memory.byte[SEGMAP_VA - MEMORY_VA + 64 + i] = (u8)i;	/* the blob */
	*word_at(BLOB + 8) = NAMES_VA;
	*word_at(BLOB + 16) = 16 | 4ull << 32;
	*word_at(BLOB + 24) = BLOB_CODE;
	*word_at(BLOB + 128) = 0x12345;
	name_blob("nmethod");
	*word_at(METHOD_VA + 8) = CONST_VA;
	u.is_leaf = 1;
	u.regs.pc = BLOB_CODE + 0x100;
	u.regs.reg[REG_SP] = STACK_VA;
	u.regs.reg[REG_FP] = 0x1234;
}

static void check_frame(u32 i, u64 kind, u64 object, u64 va)
{
	OK(u.trace.user_count >= 2 * i + 2);
	EQ(u.words[2 * i] >> FRAME_KIND_SHIFT, FRAME_RUNTIME);
	EQ(u.words[2 * i] >> FRAME_LANG_SHIFT & 0xff, LANG_HOTSPOT);
	EQ(u.words[2 * i] & FRAME_LOW_MASK, object);
	EQ(u.words[2 * i + 1] >> HOTSPOT_KIND_SHIFT, kind);
	EQ(u.words[2 * i + 1] & HOTSPOT_VA_MASK, va);
}

static void check_caller(u64 pc, u64 sp, u64 fp)
{
	EQ(u.regs.pc, pc);
	EQ(u.regs.reg[REG_SP], sp);
	EQ(native_fp(&u), 0);
	EQ(u.regs.reg[REG_FP], fp);
	OK(!u.is_leaf && u.is_return);
}

TEST(hotspot_walks_a_compiled_frame_by_its_size)
{
	setup();
	*word_at(STACK_VA + 16) = 0x5678;
	*word_at(STACK_VA + 24) = CODE_VA + 0x2000;
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_COMPILED, BLOB, BLOB_CODE + 0x100);
	EQ(u.words[1] >> HOTSPOT_ID_SHIFT & HOTSPOT_ID_MASK, 0x12345 & HOTSPOT_ID_MASK);
	check_caller(CODE_VA + 0x2000, STACK_VA + 32, 0x5678);
}

TEST(hotspot_finds_the_return_address_above_words_pushed_for_a_call)
{
	setup();
	*word_at(STACK_VA + 24) = 0x77;
	*word_at(STACK_VA + 32) = 0x5678;
	*word_at(STACK_VA + 40) = CODE_VA + 0x2000;
	EQ(hotspot_step(&u), STEP_CALLER);
	check_caller(CODE_VA + 0x2000, STACK_VA + 48, 0x5678);
}

TEST(hotspot_ends_where_no_return_address_is)
{
	setup();
	EQ(hotspot_step(&u), STEP_END);
	EQ(u.trace.end, END_RUNTIME);
}

TEST(hotspot_knows_how_far_a_frame_is_built)
{
	/* mov [rsp-0x14000], eax; push rbp; sub rsp, 0x10; nop ... */
	static const u8 code[] = { 0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x10, 0x90, 0x90 };
	static const struct { u32 at; u32 words; bool saved; } cases[] = {
		{ 0, 0, false }, { 7, 0, false }, { 8, 1, true }, { 12, 3, true }, { 13, 3, true },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setup();
		put_bytes(BLOB_CODE, code, sizeof(code));
		u.regs.pc = BLOB_CODE + cases[i].at;
		*word_at(STACK_VA + 8 * cases[i].words) = CODE_VA + 0x2000;
		if (cases[i].saved)
			*word_at(STACK_VA + 8 * cases[i].words - 8) = 0x5678;
		EQ(hotspot_step(&u), STEP_CALLER);
		check_caller(CODE_VA + 0x2000, STACK_VA + 8 * cases[i].words + 8, cases[i].saved ? 0x5678 : 0x1234);
	}
}

TEST(hotspot_knows_how_far_a_frame_is_gone)
{
	static const struct { const char *name; u8 code[12]; u8 at; u32 words; } cases[] = {
		{ "pop rbp", { 0x5d, 0xc3 }, 0, 1 },
		{ "ret", { 0x5d, 0xc3 }, 1, 0 },
		{ "cmp, as since 17", { 0x5d, 0x49, 0x3b, 0xa7, 0, 1, 0, 0, 0x0f, 0x87 }, 1, 0 },
		{ "ja", { 0x0f, 0x87, 0, 0, 0, 0, 0xc3 }, 0, 0 },
		{ "mov r10, as in 11", { 0x5d, 0x4d, 0x8b, 0x97, 0, 1, 0, 0, 0x41, 0x85, 0x02, 0xc3 }, 1, 0 },
		{ "test", { 0x41, 0x85, 0x02, 0xc3 }, 0, 0 },
		{ "test, as in 8", { 0x5d, 0x85, 0x05, 0, 0, 0, 0, 0xc3 }, 1, 0 },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setup();
		put_bytes(BLOB_CODE + 0x100, cases[i].code, sizeof(cases[i].code));
		u.regs.pc = BLOB_CODE + 0x100 + cases[i].at;
		if (cases[i].words)
			*word_at(STACK_VA) = 0x5678;
		*word_at(STACK_VA + 8 * cases[i].words) = CODE_VA + 0x2000;
		EQ(hotspot_step(&u), STEP_CALLER);
		check_caller(CODE_VA + 0x2000, STACK_VA + 8 * cases[i].words + 8, cases[i].words ? 0x5678 : 0x1234);
	}
}

TEST(hotspot_sees_through_a_frame_to_be_thrown_away)
{
	setup();
	u.is_leaf = 0;
	u.is_return = 1;
	u.regs.pc = BLOB_CODE + 0x200;
	*word_at(BLOB + 136) = BLOB_CODE + 0x200;
	*word_at(BLOB + 144) = 8;
	*word_at(STACK_VA + 8) = BLOB_CODE + 0x150;
	*word_at(STACK_VA + 24) = CODE_VA + 0x2000;
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_COMPILED, BLOB, BLOB_CODE + 0x150);
}

/* An interpreted frame at fp = STACK_VA + 0x80. */
static void setup_interpreted(void)
{
	setup();
	u.regs.pc = INTERPRETER + 0x200;
	u.regs.reg[REG_FP] = STACK_VA + 0x80;
	u.regs.reg[REG_BYTECODE] = CONST_VA + 100;
	*word_at(STACK_VA + 0x88) = CODE_VA + 0x2000;
	*word_at(STACK_VA + 0x80) = 0x5678;
	*word_at(STACK_VA + 0x78) = STACK_VA + 0xa0;
	*word_at(STACK_VA + 0x68) = METHOD_VA;
	*word_at(STACK_VA + 0x40) = CONST_VA + 90;
	*word_at(STACK_VA + 0x48) = CONST_VA + 80;
}

TEST(hotspot_walks_an_interpreted_frame)
{
	setup_interpreted();
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_INTERPRETED, METHOD_VA, CONST_VA + 100);
	check_caller(CODE_VA + 0x2000, STACK_VA + 0xa0, 0x5678);
}

TEST(hotspot_takes_the_saved_bytecode_of_a_caller)
{
	setup_interpreted();
	u.is_leaf = 0;
	u.is_return = 1;
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_INTERPRETED, METHOD_VA, CONST_VA + 90);
	setup_interpreted();
	slot()->bcp_slot = 7;
	u.regs.reg[REG_BYTECODE] = 5;	/* no bytecode of the method */
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_INTERPRETED, METHOD_VA, CONST_VA + 80);
}

TEST(hotspot_walks_a_method_that_has_no_frame_yet)
{
	for (int in_register = 0; in_register < 2; in_register++) {
		setup_interpreted();
		u.regs.pc = INTERPRETER + 0x50;
		u.regs.reg[REG_BX] = METHOD_VA + 64;
		u.regs.reg[REG_BYTECODE] = STACK_VA + 0x20;
		if (in_register)
			u.regs.reg[REG_AX] = INTERPRETER + 0x300;
		else
			*word_at(STACK_VA) = INTERPRETER + 0x300;
		EQ(hotspot_step(&u), STEP_CALLER);
		check_frame(0, HOTSPOT_INTERPRETED, METHOD_VA + 64, 0);
		check_caller(INTERPRETER + 0x300, STACK_VA + 0x20, STACK_VA + 0x80);
	}
}

TEST(hotspot_walks_a_method_whose_frame_is_being_made)
{
	setup_interpreted();
	u.regs.pc = INTERPRETER + 0x90;
	u.regs.reg[REG_SP] = STACK_VA + 0x80;
	u.regs.reg[REG_BX] = METHOD_VA + 64;
	u.regs.reg[REG_BYTECODE] = STACK_VA + 0xb0;
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_INTERPRETED, METHOD_VA + 64, 0);
	check_caller(CODE_VA + 0x2000, STACK_VA + 0xb0, 0x5678);
}

TEST(hotspot_walks_stubs_without_a_size)
{
	/* Only the return address. */
	setup();
	*word_at(BLOB + 16) = 0;
	name_blob("vtable chunks");
	*word_at(STACK_VA) = CODE_VA + 0x2000;
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_COMPILED, BLOB, BLOB_CODE + 0x100);
	check_caller(CODE_VA + 0x2000, STACK_VA + 8, 0x1234);

	/* A frame pointer: what a native call enters Java by. */
	setup();
	*word_at(BLOB + 16) = 0;
	name_blob("StubRoutines (1)");
	u.is_leaf = 0;
	u.is_return = 1;
	slot()->call_stub_va = u.regs.pc;
	u.regs.reg[REG_FP] = STACK_VA + 0x40;
	*word_at(STACK_VA + 0x40) = 0x5678;
	*word_at(STACK_VA + 0x48) = 0x7f0000001000;
	EQ(hotspot_step(&u), STEP_CALLER);
	check_caller(0x7f0000001000, STACK_VA + 0x50, 0x5678);
}

/*
 * A virtual thread: the current frame's caller is the stub that gets frames from the heap; above it on the stack is the
 * ContinuationEntry, and behind that the address that the frame which entered it returns to. Its chunk holds a frame of
 * the blob's code, of 4 words.
 */
#define STUB_BLOB (CODE_VA + 0x3010)
#define STUB_PC   (STUB_BLOB + 0x90)
#define ENTRY_VA  (STACK_VA + 0x20)
#define CONT_VA   (MEMORY_VA + 0x600)
#define CHUNK_VA  (MEMORY_VA + 0x700)
#define PARENT_VA (MEMORY_VA + 0x800)
#define FRAMES_AT 48
#define CARRIER_PC (CODE_VA + 0x4100)

static void put_chunk(u64 va, u32 sp, u32 bottom, u64 parent)
{
	*word_at(va + 8) = (u64)16 << 32;		/* size */
	*word_at(va + 24) = sp | (u64)bottom << 32;
	*word_at(va + 40) = parent;
}

static void setup_virtual(void)
{
	setup();
	slot()->chunks = (struct hotspot_chunks){ .oop = HOTSPOT_OOP_ADDRESS, .entry_bytes = 64, .entry_cont = 16,
		.tail = 24, .sp = 24, .bottom = 28, .size = 12, .parent = 40, .frames = FRAMES_AT };
	for (u32 i = 0; i < 64; i++)
		memory.byte[SEGMAP_VA - MEMORY_VA + 192 + i] = (u8)i;
	*word_at(STUB_BLOB + 8) = NAMES_VA + 64;
	*word_at(STUB_BLOB + 24) = STUB_BLOB + 0x80;
	put_bytes(NAMES_VA + 64, "StubRoutines (continuation stubs)", 34);
	*word_at(STACK_VA + 24) = STUB_PC;
	*word_at(ENTRY_VA + 16) = CONT_VA;
	*word_at(ENTRY_VA + 64) = 0x9999;		/* the carrier's frame pointer */
	*word_at(ENTRY_VA + 72) = CARRIER_PC;
	*word_at(CONT_VA + 24) = CHUNK_VA;
	put_chunk(CHUNK_VA, 4, 8, 0);
	*word_at(CHUNK_VA + FRAMES_AT + 3 * 8) = BLOB_CODE + 0x150;
}

static void check_carrier(void)
{
	check_caller(CARRIER_PC, ENTRY_VA + 80, 0x9999);
}

TEST(hotspot_walks_the_frames_of_a_virtual_thread_in_the_heap)
{
	setup_virtual();
	EQ(hotspot_step(&u), STEP_CALLER);
	EQ(u.regs.pc, STUB_PC);
	EQ(hotspot_step(&u), STEP_CALLER);
	EQ(u.regs.pc, BLOB_CODE + 0x150);
	EQ(u.regs.reg[REG_SP], CHUNK_VA + FRAMES_AT + 4 * 8);
	*word_at(CHUNK_VA + FRAMES_AT + 7 * 8) = CODE_VA + 0x2000;	/* whatever was left there */
	EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(0, HOTSPOT_COMPILED, BLOB, BLOB_CODE + 0x100);
	check_frame(1, HOTSPOT_COMPILED, BLOB, BLOB_CODE + 0x150);	/* not the stub */
	EQ(u.trace.frame_count, 2);
	check_carrier();
}

TEST(hotspot_shows_what_has_entered_a_virtual_thread)
{
	setup_virtual();
	slot()->chunks.entry_pc_va = MEMORY_VA + 0x500;
	*word_at(MEMORY_VA + 0x500) = CODE_VA + 0x4000;
	*word_at(CHUNK_VA + FRAMES_AT + 7 * 8) = CODE_VA + 0x2000;
	for (u32 i = 0; i < 3; i++)
		EQ(hotspot_step(&u), STEP_CALLER);
	EQ(u.regs.pc, CODE_VA + 0x4000);
	EQ(u.regs.reg[REG_SP], ENTRY_VA);
}

TEST(hotspot_goes_from_chunk_to_chunk)
{
	static const u8 oops[] = { HOTSPOT_OOP_ADDRESS, HOTSPOT_OOP_COMPRESSED, HOTSPOT_OOP_COLOURED };

	for (u32 i = 0; i < sizeof(oops); i++) {
		u64 parent = PARENT_VA, tail = CHUNK_VA;

		setup_virtual();
		slot()->chunks.oop = oops[i];
		slot()->chunks.oop_base = MEMORY_VA - 16;
		slot()->chunks.oop_shift = 3;
		if (oops[i] == HOTSPOT_OOP_COMPRESSED) {
			parent = (parent - MEMORY_VA + 16) >> 3 | 7ull << 32;	/* the next field */
			tail = (tail - MEMORY_VA + 16) >> 3;
		} else if (oops[i] == HOTSPOT_OOP_COLOURED) {
			parent = parent << 15 | 1 << 14;
			tail = tail << 13 | 1 << 12;
		}
		*word_at(CONT_VA + 24) = tail;
		put_chunk(CHUNK_VA, 8, 8, parent);		/* empty */
		put_chunk(PARENT_VA, 2, 6, 0);
		*word_at(PARENT_VA + FRAMES_AT + 8) = BLOB_CODE + 0x160;
		*word_at(PARENT_VA + FRAMES_AT + 5 * 8) = CODE_VA + 0x2000;
		EQ(hotspot_step(&u), STEP_CALLER);
		EQ(hotspot_step(&u), STEP_CALLER);
		EQ(u.regs.pc, BLOB_CODE + 0x160);
		EQ(hotspot_step(&u), STEP_CALLER);
		check_carrier();
	}
}

TEST(hotspot_walks_interpreted_frames_in_the_heap)
{
	u64 frames = CHUNK_VA + FRAMES_AT;

	/* fp is word 10; its caller's sp word 12; its locals are words 12 and 13, the last of the chunk. */
	setup_virtual();
	put_chunk(CHUNK_VA, 2, 14, 0);
	*word_at(frames) = 10;				/* in words, from here */
	*word_at(frames + 8) = INTERPRETER + 0x200;
	*word_at(frames + 80) = 0x1111;
	*word_at(frames + 88) = CODE_VA + 0x2000;
	*word_at(frames + 80 - 8) = 2;
	*word_at(frames + 80 - 24) = METHOD_VA;
	*word_at(frames + 80 - 64) = CONST_VA + 90;
	*word_at(frames + 80 - 56) = 3;
	for (u32 i = 0; i < 3; i++)
		EQ(hotspot_step(&u), STEP_CALLER);
	check_frame(1, HOTSPOT_INTERPRETED, METHOD_VA, CONST_VA + 90);
	check_carrier();
}

TEST(hotspot_shows_the_stub_where_the_heap_cannot_be_read)
{
	static const u64 tails[] = { 0, 8, CHUNK_VA + 4, MEMORY_VA + sizeof(memory) };

	for (u32 i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		setup_virtual();
		*word_at(CONT_VA + 24) = tails[i];
		EQ(hotspot_step(&u), STEP_CALLER);
		EQ(hotspot_step(&u), STEP_CALLER);
		check_frame(1, HOTSPOT_COMPILED, STUB_BLOB, STUB_PC);
		check_carrier();
	}
	/* Of a chunk that leads to itself, some frames are seen. */
	setup_virtual();
	put_chunk(CHUNK_VA, 4, 8, CHUNK_VA);
	*word_at(CHUNK_VA + FRAMES_AT + 7 * 8) = CODE_VA + 0x2000;
	for (u32 i = 0; i < 2 * STACK_SWITCHES_MAX && hotspot_step(&u) == STEP_CALLER && u.regs.pc != CARRIER_PC; i++)
		;
	EQ(u.trace.frame_count, 1 + STACK_SWITCHES_MAX);
	check_carrier();
}

TEST(hotspot_leaves_free_code_to_the_native_unwinder)
{
	setup();
	memory.byte[SEGMAP_VA - MEMORY_VA + 64 + 6] = 0xff;
	EQ(hotspot_step(&u), STEP_NATIVE);
	/* A map that leads nowhere. */
	setup();
	memset(memory.byte + (SEGMAP_VA - MEMORY_VA), 1, 512);
	memory.byte[SEGMAP_VA - MEMORY_VA] = 1;
	u.regs.pc = CODE_END - 64;
	EQ(hotspot_step(&u), STEP_NATIVE);
}

TEST(hotspot_stops_in_memory_that_makes_no_sense)
{
	u64 seed = 12345;

	for (u32 round = 0; round < 2000; round++) {
		u32 steps = 0;

		setup_interpreted();
		for (u32 i = 0; i < 200; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* Half of them are addresses: of code, or of the stack. */
			memory.word[seed >> 40 & (MEMORY_WORDS - 1)] =
				seed >> 60 & 1 ? MEMORY_VA + (seed >> 20 & 0xffff) : seed;
		}
		u.regs.pc = CODE_VA + (seed >> 33 & 0x7fff);
		while (hotspot_step(&u) == STEP_CALLER && steps++ < 4096)
			;
		OK(steps < 4096);	/* sp goes up with each */
		OK(u.trace.user_count <= USER_WORDS_MAX);
	}
}

#endif
