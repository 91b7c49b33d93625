/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up BEAM: the program's data and code, fragments, a module, what it tells debuggers of them, and a scheduler,
 * in our own memory, read as that of another process.
 */
#ifndef TEST_FORGE_BEAM_H
#define TEST_FORGE_BEAM_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/beam/beam.h"
#include "lang/lang.h"
#include "test.h"

#define BEAM_VA 0x230000000000ull
#define BEAM_BYTES 0x10000u
#define BEAM_DATA_BYTES 0x800u
#define BEAM_DESCRIPTOR_VA (BEAM_VA + 0x240)
#define BEAM_POINTER_VA (BEAM_VA + 0x300)	/* leads to the scheduler */
#define BEAM_TEXT_VA (BEAM_VA + 0x1000)
#define BEAM_RETURN_VA (BEAM_TEXT_VA + 0x105)	/* behind the call of the scheduler's loop */
#define BEAM_GLOBAL_VA (BEAM_VA + 0x2000)
#define BEAM_LOOP_VA (BEAM_GLOBAL_VA + 0x100)
#define BEAM_EXIT_VA (BEAM_GLOBAL_VA + 0x300)
#define BEAM_MODULE_VA (BEAM_VA + 0x3000)
#define BEAM_ENTRIES_VA (BEAM_VA + 0x4000)
#define BEAM_TEXTS_VA (BEAM_VA + 0x4800)
#define BEAM_SCHEDULER_VA (BEAM_VA + 0x6000)
#define BEAM_THREAD_VA (BEAM_VA + 0x6800)
#define BEAM_REGISTERS_VA (BEAM_VA + 0x7000)
#define BEAM_STOP 0x58
#define BEAM_LOOP_STACK 0x140

struct forge_beam {
	u64 text_va;	/* where the next text goes */
	u64 entry_va;
	u64 first_va;	/* entry */
};

static inline void beam_put(u64 va, u64 word, size_t bytes)
{
	asm("" : "+r"(va));	/* a compiler that knows the number takes it for no object's */
	memcpy((void *)(uintptr_t)va, &word, bytes);
}

static inline void beam_put_bytes(u64 va, const void *bytes, size_t count)
{
	asm("" : "+r"(va));
	memcpy((void *)(uintptr_t)va, bytes, count);
}

/* A record whose name begins at `name`, and which has so many bytes without it. */
static inline u64 beam_put_record(struct forge_beam *b, const u32 *words, size_t name, size_t bytes, const char *text)
{
	u64 va = b->text_va;

	beam_put_bytes(va, words, name - 2);
	beam_put(va + name - 2, strlen(text) + 1, 2);
	beam_put_bytes(va + name, text, strlen(text) + 1);
	b->text_va += bytes + strlen(text) + 1;
	return va;
}

static inline void beam_put_range(struct forge_beam *b, u32 start, u32 end, u32 lines, const char *name)
{
	beam_put_record(b, (u32[]){ start, end, lines }, 14, 16, name);
}

static inline void beam_put_line(struct forge_beam *b, u32 start, u32 line, const char *file)
{
	beam_put_record(b, (u32[]){ start, line }, 10, 12, file);
}

static inline u64 beam_put_head(struct forge_beam *b, u64 va, u32 bytes, u32 ranges, const char *name)
{
	return beam_put_record(b, (u32[]){ 1, 0, (u32)va, (u32)(va >> 32), ranges, bytes }, 26, 32, name);
}

/* Tells of a text that begins there and has just ended; new ones are put in front. */
static inline void beam_put_entry(struct forge_beam *b, u64 text_va)
{
	u64 va = b->entry_va;

	b->entry_va += 32;
	beam_put(va, b->first_va, 8);
	beam_put(va + 8, 0, 8);
	beam_put(va + 16, text_va, 8);
	beam_put(va + 24, b->text_va - text_va, 8);
	if (b->first_va)
		beam_put(b->first_va + 8, va, 8);
	b->first_va = va;
	beam_put(BEAM_DESCRIPTOR_VA, 1ull << 32 | 1, 8);
	beam_put(BEAM_DESCRIPTOR_VA + 16, va, 8);
	b->text_va = (b->text_va + 7) & ~7ull;
}

static inline void beam_put_code(void)
{
	static const u8 loop[] = { 0x48, 0x81, 0xec, BEAM_LOOP_STACK & 0xff, BEAM_LOOP_STACK >> 8, 0, 0,
				   0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x27, 0x48, 0x8d, 0x5c, 0x24, 0x40 };
	static const u8 leave[] = { 0x49, 0x8b, 0x65, BEAM_STOP };

	beam_put_bytes(BEAM_LOOP_VA, loop, sizeof(loop));
	for (u32 i = 0; i < 4; i++)
		beam_put_bytes(BEAM_GLOBAL_VA + 0x10 * i, leave, sizeof(leave));
	beam_put(BEAM_RETURN_VA - 5, 0xe8, 1);
}

static inline void beam_put_texts(struct forge_beam *b)
{
	u64 text_va = beam_put_head(b, BEAM_GLOBAL_VA, 0x400, 3, "global");

	beam_put_range(b, 0, 0x100, 0, "global::call_bif_shared");
	beam_put_range(b, 0x100, 0x300, 0, "global::process_main");
	beam_put_range(b, 0x300, 0x400, 0, "global::raise_exception");
	beam_put_entry(b, text_va);
	text_va = b->text_va;
	beam_put(text_va, 0, 8);
	beam_put(text_va + 8, 0, 8);
	beam_put(text_va + 16, BEAM_EXIT_VA, 8);
	beam_put(text_va + 24, 0, 8);
	b->text_va += 32;
	beam_put_entry(b, text_va);
	text_va = beam_put_head(b, BEAM_MODULE_VA, 0x400, 4, "some");
	beam_put_range(b, 0, 0x80, 0, "some::codeHeader");
	beam_put_range(b, 0x80, 0xa0, 0, "some:work/2-CodeInfoPrologue");
	beam_put_range(b, 0xa0, 0x200, 2, "some:work/2");
	beam_put_line(b, 0xa0, 17, "some.erl");
	beam_put_line(b, 0x110, 19, "other.hrl");
	beam_put_range(b, 0x200, 0x400, 0, "'Elixir.Some.Thing':'run!'/1");
	beam_put_entry(b, text_va);
}

static inline void beam_put_scheduler(void)
{
	u64 root = BEAM_REGISTERS_VA + BEAM_LOOP_STACK + 8;

	beam_put(BEAM_POINTER_VA, BEAM_SCHEDULER_VA, 8);
	beam_put(BEAM_SCHEDULER_VA + 8 * BEAM_SCHEDULER_REGISTERS, BEAM_REGISTERS_VA, 8);
	beam_put(BEAM_SCHEDULER_VA + 8 * BEAM_SCHEDULER_THREAD, BEAM_THREAD_VA, 8);
	beam_put(BEAM_SCHEDULER_VA + 8 * BEAM_SCHEDULER_NUMBER, 1, 8);
	beam_put(BEAM_THREAD_VA, BEAM_THREAD_VA, 8);
	beam_put(BEAM_THREAD_VA + 0x10, BEAM_THREAD_VA, 8);
	beam_put(BEAM_THREAD_VA + 0x310 + 16 * 4 + 8, BEAM_SCHEDULER_VA, 8);
	beam_put(root, BEAM_RETURN_VA + 0x40, 8);		/* what was there before */
	beam_put(BEAM_RETURN_VA + 0x40 - 5, 0xe8, 1);
	beam_put(root + 2 * BEAM_ROOTS_APART, BEAM_RETURN_VA, 8);
}

/* A table of 2^bits processes, of which the first is there. */
static inline void beam_put_table(u32 bits)
{
	u64 va = BEAM_VA + 0x400;

	beam_put(va, BEAM_VA + 0x8000, 8);
	beam_put(va + 16, 1ull << bits, 8);
	beam_put(va + 24, (1ull << bits) - 1, 8);
	beam_put(va + 32, (1ull << (bits - 3)) - 1, 8);
	beam_put(va + 40, 7, 8);
	beam_put(va + 48, 3 | (u64)(bits - 3) << 32, 8);
	beam_put(BEAM_VA + 0x8000, BEAM_VA + 0x8100, 8);
	beam_put(BEAM_VA + 0x8100, 3, 8);
}

static inline struct forge_beam forge_beam(void)
{
	struct forge_beam b = { .text_va = BEAM_TEXTS_VA, .entry_va = BEAM_ENTRIES_VA };
	void *at = mmap((void *)BEAM_VA, BEAM_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	OK(at == (void *)BEAM_VA);
	beam_put_code();
	beam_put_texts(&b);
	beam_put_scheduler();
	return b;
}

static inline struct beam_facts beam_facts_of(u64 release)
{
	return (struct beam_facts){
		.release = release, .has_jit = 1, .is_x86_64 = 1, .data_ea = 0, .data_end_ea = BEAM_DATA_BYTES,
		.text_ea = BEAM_TEXT_VA - BEAM_VA, .text_end_ea = BEAM_TEXT_VA - BEAM_VA + 0x1000,
	};
}

static inline u64 beam_frame_of(u64 va)
{
	return (u64)FRAME_VA << FRAME_KIND_SHIFT | va;
}

#endif
