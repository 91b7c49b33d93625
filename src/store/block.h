/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block: rows of one window, or of one period of a roll-up, as columns.
 *
 *	rows are sorted by series, node, time
 *	runs		(series, how many rows)
 *	threads, links	tables of what the rows refer to
 *	columns		node, value, and in a window: time, thread, CPU, link, line and address of the leaf
 *
 * Each column is its length and its rows as varints, differences where neighbours
 * are close; the whole is compressed with zstd. A reader unpacks only
 * the columns that it asks for.
 */
#ifndef STORE_BLOCK_H
#define STORE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "base/cleanup.h"

struct buf;
struct dict;

#define BLOCK_ROWS_MAX (4u << 20)
#define BLOCK_BYTES_MAX ((size_t)256 << 20)
#define BLOCK_NO_CPU 0

struct block_thread {
	u32 tid;
	u32 name;		/* string of the dictionary */
};

struct block_link {
	u8 trace_id[16], span_id[8];
};

struct block_row {
	u32 series, node;
	s64 value;
	u64 time_ns;		/* CLOCK_REALTIME; 0: not known */
	u32 thread, link;	/* of the block's tables; 0: none */
	u32 cpu;		/* + 1; BLOCK_NO_CPU: not known */
	u32 line;		/* of the leaf */
	u64 address;		/* of the leaf, in its file */
};

/* What a window's rows are gathered in. threads and links have an entry 0 that is nothing. */
struct block_rows {
	struct block_row *rows;
	struct block_thread *threads;
	struct block_link *links;
	u32 count, cap, thread_count, thread_cap, link_count, link_cap;
};

void block_rows_init(struct block_rows *rows);
void block_rows_done(struct block_rows *rows);

/* -ENOMEM; -E2BIG past BLOCK_ROWS_MAX. */
int block_rows_add(struct block_rows *rows, const struct block_row *row);
int block_rows_thread(struct block_rows *rows, struct block_thread thread, u32 *ret_number);
int block_rows_link(struct block_rows *rows, const struct block_link *link, u32 *ret_number);

/* Joins rows that differ in nothing but their value; a roll-up's rows by series and node alone. Sorts. */
void block_rows_fold(struct block_rows *rows, bool is_rollup);

/* Appends the block. The rows must be folded. */
int block_pack(const struct block_rows *rows, bool is_rollup, struct buf *out);

/* ---- Reading ------------------------------------------------------------------ */


/*
 * All rows, each number checked against the dictionary's. with_details: also the columns that only windows have.
 * -EBADMSG, -ENOMEM.
 */
int block_unpack(const void *at, size_t bytes, const struct dict *dict, bool with_details, struct block_rows *ret_rows);

#endif
