/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What bpf/unwind.h asks for, for the unit test of a language's step that is
 * walked to by the native unwinder: a process with MEMORY_BYTES of memory from
 * MEMORY_VA on, and code at CODE_VA in STEP_RULES pieces of 0x100 bytes, each
 * with STACK_BYTES of stack up to its return address; the last piece is the
 * root. STEP_MORE_MAPS, if any, are mappings behind it. All of them are defined
 * before, with STEP_HEADER, which is included from here, and what that needs.
 */
#ifndef TEST_STEP_WALK_H
#define TEST_STEP_WALK_H

#include <stdbool.h>

#include "test.h"
#include "unwind.h"

#define CODE_VA 0x10000ull
#define MEMORY_VA 0x7000ull
#define THREAD_POINTER (MEMORY_VA + 0x100)
#define STACK_VA (MEMORY_VA + MEMORY_BYTES - 0x1000)
#define STACK_BYTES 0x48
#define LOOP_NO_UNROLL

static struct map_entry maps[] = {
	{ .start_va = CODE_VA, .end_va = CODE_VA + 0x10000, .bias = CODE_VA, .binary = 7 },
#ifdef STEP_MORE_MAPS
	STEP_MORE_MAPS
#endif
};
static struct page_entry the_page = { .count = STEP_RULES };
static struct rows_chunk the_chunk;
static struct unwind_rule rules[STEP_RULES];
static u8 memory[MEMORY_BYTES];
static u32 read_count;

static const struct map_entry *table_map(u32 index)
{
	return index < sizeof(maps) / sizeof(maps[0]) ? &maps[index] : NULL;
}

static struct page_entry *table_page(u32 index)
{
	return index == 0 ? &the_page : NULL;
}

static const struct rows_chunk *table_chunk(u32 index)
{
	return index == 0 ? &the_chunk : NULL;
}

static const struct unwind_rule *table_rule(u32 index)
{
	return index < STEP_RULES ? &rules[index] : NULL;
}

static struct place *table_place(struct unwind *unwind, u64 va)
{
	return NULL;
}

static int read_user(struct unwind *u, void *to, u32 bytes, u64 va)
{
	read_count++;
	if (va < MEMORY_VA || bytes > MEMORY_BYTES || va - MEMORY_VA > MEMORY_BYTES - bytes)
		return -1;
	memcpy(to, memory + (va - MEMORY_VA), bytes);
	return 0;
}

static int read_code(struct unwind *u, void *to, u32 bytes, u64 va)
{
	return read_user(u, to, bytes, va);
}

static int may_return(struct unwind *u, u64 return_va)
{
	return 1;
}

static u64 strip_pac(struct unwind *u, u64 va)
{
	return va;
}

static inline u64 walk_thread_pointer(void)
{
	return THREAD_POINTER;
}

static inline int runtime_step(struct unwind *u, const struct unwind_rule *rule);

static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule)
{
	return runtime_step(u, rule);
}

#include STEP_HEADER

static struct unwind u;

static void put(u64 va, u64 word)
{
	OK(va >= MEMORY_VA && va <= MEMORY_VA + MEMORY_BYTES - 8);
	memcpy(memory + (va - MEMORY_VA), &word, sizeof(word));
}

/* Empty memory, a thread interrupted at pc_va; the pieces of code from `first` up to `last` are the language's. */
static void step_setup(u32 lang, u32 first, u32 last, u64 pc_va)
{
	memset(&u, 0, sizeof(u));
	memset(memory, 0, sizeof(memory));
	for (u16 i = 0; i < STEP_RULES; i++) {
		the_chunk.low[i] = (u16)(0x100 * i);
		the_chunk.rule[i] = i;
		rules[i] = (struct unwind_rule){
			.kind = RULE_CFA, .cfa_reg = REG_SP, .cfa_off = STACK_BYTES, .ra_off = -8,
			.lang = i >= first && i <= last ? (u8)lang : 0,
		};
	}
	rules[STEP_RULES - 1].kind = RULE_END;
	u.map_count = sizeof(maps) / sizeof(maps[0]);
	u.is_leaf = 1;
	u.first_slot = 1;
	u.regs.pc = pc_va;
	u.regs.reg[REG_SP] = STACK_VA;
}

/* A native stack of these return addresses. */
static inline void put_stack(const u64 *return_va, u32 count)
{
	for (u32 i = 0; i < count; i++)
		put(STACK_VA + i * STACK_BYTES + STACK_BYTES - 8, return_va[i]);
}

#define STACK(...) put_stack((const u64[]){ __VA_ARGS__ }, sizeof((const u64[]){ __VA_ARGS__ }) / 8)

#define STEP_TEXT_BYTES 4096
#define STEP_FRAME_BYTES 32	/* of the text of a frame, and of the end */

/* Puts a text for the frame whose words begin there, and says how many they are. */
typedef u32 step_frame_text(char *text, size_t bytes, const u64 *words);

/* Walks to the end: the frames as text, then why it ended. */
static inline const char *step_walked(step_frame_text *frame_text)
{
	static char text[STEP_TEXT_BYTES];

	memset(text, 0, sizeof(text));
	while (!native_step(&u))
		;
	for (u32 i = 0; i < u.trace.user_count && strlen(text) + STEP_FRAME_BYTES < sizeof(text);)
		i += frame_text(text + strlen(text), STEP_FRAME_BYTES, &u.words[i]);
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
		       u.trace.end == END_COMPLETE ? "complete" : u.trace.end == END_RUNTIME ? "runtime" :
		       u.trace.end == END_NO_ROOT ? "no root" : "?");
	return text;
}

/* Puts some random words in [start_va, end_va): small ones, or any. */
static inline void step_spoil(u64 *random, u64 start_va, u64 end_va, bool is_any)
{
	for (u32 i = 0; i < 8; i++) {
		*random = *random * 6364136223846793005ull + 1442695040888963407ull;
		put(start_va + (*random >> 33) % (end_va - start_va - 8), *random >> 7 & (is_any ? ~0ull : 0xffffull));
	}
}

#endif
