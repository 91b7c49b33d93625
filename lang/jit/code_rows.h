/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How generated code is unwound, by address: pieces of code that do not
 * overlap, with their rows. A piece that is told later takes the place of
 * those that it overlaps. Bounded; what does not fit is counted.
 *
 * A runtime tells of code before it has put in place what the code and its
 * tables refer to. So rows are made only when they are asked for: when the
 * memory was made executable.
 */
#ifndef LANG_JIT_CODE_ROWS_H
#define LANG_JIT_CODE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct rows;

#define CODE_ROWS_PIECES_MAX 65536
#define CODE_ROWS_BYTES_MAX (32u << 20)		/* of a process */
#define CODE_ROWS_MAKE_MAX 256			/* made for one question; the rest for the next */

/* Where a piece of code and its tables are. */
struct code_place {
	u64 start_va, end_va;
	u64 frames_va, frames_bytes;	/* .eh_frame in the process; 0: it has none there */
	u32 first_name, last_name;	/* numbers [first, last) in the code_table, as of when it was told */
	u16 machine;			/* e_machine */
	bool is_met;			/* nobody told of it, but a stack has ended there */
};

struct code_rows_piece {
	struct code_place place;
	u64 order;		/* when it was told, from 1 on */
	bool made;
	struct rows *rows;	/* owned; their ELF addresses are those of the process. NULL: none, or not made yet */
};

struct code_rows {
	struct code_rows_piece *at;	/* sorted */
	u32 count, cap;
	size_t bytes;
	u64 order;
	u64 dropped;
};

/* Makes the rows of a piece. -EAGAIN: not now. */
typedef int code_rows_make(void *arg, const struct code_place *place, struct rows **ret_rows);

void code_rows_done(struct code_rows *code);

/* Takes over the rows, also where they do not fit; NULL: they are made later. */
void code_rows_add(struct code_rows *code, const struct code_place *place, struct rows *rows);

/* Was some code in [start_va, end_va) told of by the runtime? */
bool code_rows_told(const struct code_rows *code, u64 start_va, u64 end_va);

/* When the newest piece in [start_va, end_va) was told; 0: there is none. Of all, [0, ~0): how often there was one. */
u64 code_rows_order(const struct code_rows *code, u64 start_va, u64 end_va);

/*
 * All rows in [start_va, end_va) as one block, with addresses less base_va. -ENODATA if there are none. Where there was
 * more to make than may be at once, the order goes up, there and of all: the first of the rest counts as told anew.
 */
int code_rows_join(struct code_rows *code, u64 start_va, u64 end_va, u64 base_va, code_rows_make *make, void *arg,
		   struct rows **ret_rows);

#endif
