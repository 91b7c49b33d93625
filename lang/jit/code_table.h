/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated code by address, as perf maps and jitdump files tell of it: where
 * pieces overlap, the one told last is there. Bounded; past the limits pieces
 * are counted, not kept.
 */
#ifndef LANG_JIT_CODE_TABLE_H
#define LANG_JIT_CODE_TABLE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"

#define CODE_PIECES_MAX (1u << 20)
#define CODE_TEXT_MAX (64u << 20)	/* bytes of names */
#define CODE_NAME_MAX 4096		/* ... of one; longer ones are cut */

struct code_piece {
	u64 start_va, end_va;
	u32 order;		/* when it was told */
	u32 name;		/* offset in text */
	u32 file;		/* ... of its source file, or 0 */
	u32 line;		/* ... of its first line, or 0 */
};

struct code_table {
	struct code_piece *pieces;
	u32 count, cap;
	u32 sorted_count;	/* the first ones, sorted; the others are as they were told */
	struct buf text;	/* names, each ended by NUL; "" at 0 */
	u64 dropped;
	u64 generation;		/* goes up with each change */
};

void code_table_done(struct code_table *table);
void code_table_clear(struct code_table *table);

/* Texts of that length; file may be NULL. */
void code_table_add(struct code_table *table, u64 start_va, u64 bytes, const char *name, size_t name_len,
		    const char *file, size_t file_len, u32 line);

/* The code at an address has gone to another: it is told of there, too, by the same texts. */
void code_table_move(struct code_table *table, u64 from_va, u64 to_va, u64 bytes);

/* Index of the first piece that begins at an address or behind it, in the order of their addresses. */
u32 code_table_from(struct code_table *table, u64 va);

/* The piece of code at an address, or NULL. */
const struct code_piece *code_table_find(struct code_table *table, u64 va);

static inline const char *code_table_text(const struct code_table *table, u32 offset)
{
	return offset < table->text.len ? table->text.data + offset : "";
}

#endif
