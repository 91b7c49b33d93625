// SPDX-License-Identifier: Apache-2.0
#include "tracer/slice.h"

#include <string.h>

#include "tracer/tables.h"
#include "unwind.h"

/* What bpf/native.h is given to work on, in place of maps and another process's memory. */
static __thread struct {
	const struct tables *tables;
	const u8 *memory;	/* copied from the stack pointer on */
	u64 start_va, bytes;
	u64 user_va_mask;
} slice;

#define LOOP_NO_UNROLL

static inline const struct map_entry *table_map(u32 index)
{
	return tables_map(slice.tables, index);
}

static inline const struct page_entry *table_page(u32 index)
{
	return tables_page(slice.tables, index);
}

static inline const struct rows_chunk *table_chunk(u32 index)
{
	return tables_chunk(slice.tables, index);
}

static inline const struct unwind_rule *table_rule(u32 index)
{
	return tables_rule(slice.tables, index);
}

static inline int read_user(struct unwind *u, void *to, u32 bytes, u64 va)
{
	u64 at = va - slice.start_va;

	if (va < slice.start_va || at > slice.bytes || bytes > slice.bytes - at)
		return -1;
	memcpy(to, slice.memory + at, bytes);
	return 0;
}

static inline u64 strip_pac(u64 va)
{
	return va & slice.user_va_mask;
}

#include "native.h"

void slice_unwind(struct unwind *u, const struct tables *tables, const struct trace_record *record, u32 map_first,
		  u32 map_count, u64 user_va_mask)
{
	const u64 *words = (const void *)(record + 1);

	memset(u, 0, offsetof(struct unwind, words));
	memcpy(&u->regs, words + record->kernel_count, sizeof(u->regs));
	slice.tables = tables;
	slice.memory = (const u8 *)(words + record->kernel_count) + sizeof(u->regs);
	slice.start_va = u->regs.reg[REG_SP];
	slice.bytes = record->slice_bytes;
	slice.user_va_mask = user_va_mask;
	u->map_first = map_first;
	u->map_count = map_count;
	u->is_leaf = 1;
	u->is_return = record->is_return;
	while (!native_step(u))
		;
	if (u->trace.end == END_UNREADABLE)
		u->trace.end = END_SLICE_SHORT;
}
