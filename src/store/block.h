/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block: rows of one window, or of one period of a roll-up, as columns.
 *
 *	rows are sorted by series, labels, node, time
 *	data		runs (series, how many rows, their sum); node; value; where there are any, labels: sets, and the
 *			number of one for each run
 *	details		only of windows: threads and links that rows refer to; time; thread; CPU; link; line and address
 *			of the leaf
 *
 * Each column is varints, differences where neighbours are close, compressed
 * with zstd by itself: a reader unpacks what it asks for and no more.
 */
#ifndef STORE_BLOCK_H
#define STORE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "profile/table.h"
#include "store/label_sets.h"

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
	u16 cpu;		/* + 1; BLOCK_NO_CPU: not known */
	u16 labels;		/* a set of the block's; 0: none */
	u32 line;		/* of the leaf */
	u64 address;		/* of the leaf, in its file */
};
_Static_assert(LABEL_SETS_MAX <= 1u << 16, "a row has the number of a set");

/* What a window's rows are gathered in, and what a block is read into. Entry 0 of threads and links is nothing. */
struct block_rows {
	struct block_row *rows;
	struct table threads, links;	/* of struct block_thread, struct block_link */
	struct label_sets labels;
	u32 count, cap;
};

void block_rows_init(struct block_rows *rows);
void block_rows_done(struct block_rows *rows);

static inline const struct block_thread *block_thread(const struct block_rows *rows, u32 number)
{
	return (const struct block_thread *)rows->threads.rows + number;
}

static inline const struct block_link *block_link(const struct block_rows *rows, u32 number)
{
	return (const struct block_link *)rows->links.rows + number;
}

/* -ENOMEM; -E2BIG past BLOCK_ROWS_MAX. */
int block_rows_add(struct block_rows *rows, const struct block_row *row);
int block_rows_thread(struct block_rows *rows, struct block_thread thread, u32 *ret_number);
int block_rows_link(struct block_rows *rows, const struct block_link *link, u32 *ret_number);

/* Joins rows that differ in nothing but their value; a roll-up's rows by series, labels and node alone. Sorts. */
void block_rows_fold(struct block_rows *rows, bool is_rollup);

/* The rows must be folded. A roll-up has no details. */
int block_pack(const struct block_rows *rows, bool is_rollup, struct buf *data, struct buf *details);

/* ---- Reading ------------------------------------------------------------------ */

/* Which columns are wanted; series is always there. */
enum {
	BLOCK_NODE = 1 << 0,
	BLOCK_VALUE = 1 << 1,
	BLOCK_TIME = 1 << 2,
	BLOCK_THREAD = 1 << 3,
	BLOCK_CPU = 1 << 4,
	BLOCK_LINK = 1 << 5,
	BLOCK_LEAF = 1 << 6,
	BLOCK_LABELS = 1 << 7,
	BLOCK_DETAILS = BLOCK_TIME | BLOCK_THREAD | BLOCK_CPU | BLOCK_LINK | BLOCK_LEAF,
	BLOCK_SUMS = 0,		/* none, or only labels: one row for each run, its value is the sum */
};

static inline bool block_is_sums(u32 columns)
{
	return !(columns & ~BLOCK_LABELS);
}

struct block_bytes {
	const void *data, *details;
	size_t data_bytes, detail_bytes;	/* without details: 0 */
};

/*
 * Puts the rows in the place of those that are there, each number checked against the dictionary's.
 * -EBADMSG, -ENOMEM: then there are none.
 */
int block_unpack(const struct block_bytes *bytes, const struct dict *dict, u32 columns, struct block_rows *rows);

#endif
