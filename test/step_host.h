/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What bpf/unwind.h asks for, for the unit test of a language's step: a process whose memory is an array of
 * MEMORY_WORDS words (defined before) from MEMORY_VA on, and no native tables.
 */
#ifndef TEST_STEP_HOST_H
#define TEST_STEP_HOST_H

#include "test.h"
#include "unwind.h"

#define MEMORY_VA 0x7f0000010000ull
#define LOOP_NO_UNROLL

static union {
	u8 byte[MEMORY_WORDS * 8];
	u64 word[MEMORY_WORDS];
} memory;

static const struct map_entry *table_map(u32 index)
{
	return NULL;
}

static struct page_entry *table_page(u32 index)
{
	return NULL;
}

static const struct rows_chunk *table_chunk(u32 index)
{
	return NULL;
}

static const struct unwind_rule *table_rule(u32 index)
{
	return NULL;
}

static struct place *table_place(struct unwind *u, u64 va)
{
	return NULL;
}

static int read_user(struct unwind *u, void *to, u32 bytes, u64 va)
{
	if (va < MEMORY_VA || va - MEMORY_VA > sizeof(memory) - bytes)
		return -1;
	memcpy(to, memory.byte + (va - MEMORY_VA), bytes);
	return 0;
}

static inline int read_code(struct unwind *u, void *to, u32 bytes, u64 va)
{
	return read_user(u, to, bytes, va);
}

static inline int may_return(struct unwind *u, u64 return_va)
{
	return 1;
}

static u64 strip_pac(struct unwind *u, u64 va)
{
	return va;
}

static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule)
{
	return STEP_NATIVE;
}

static inline void put_bytes(u64 va, const void *bytes, size_t count)
{
	memcpy(memory.byte + (va - MEMORY_VA), bytes, count);
}

#endif
