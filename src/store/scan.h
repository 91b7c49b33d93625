/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the rows of a selection: from roll-ups where whole periods are wanted
 * and they hold what is asked for, else from blocks.
 */
#ifndef STORE_SCAN_H
#define STORE_SCAN_H

#include "store/sqlite.h"

struct scan_plan {
	struct scan_part {
		u32 level;
		u64 from_ns, to_ns;
	} *parts;
	u32 count, cap;
	bool is_coarse;
	u64 from_ns, to_ns;	/* what is really covered */
};

void scan_plan_done(struct scan_plan *plan);

/* What the blocks of a level are known to reach back to. */
struct scan_reach {
	u64 first_ns[DB_LEVELS];	/* UINT64_MAX: nothing */
	u64 rolled_ns[DB_LEVELS];
};

/* period_max_ns: roll-ups of longer periods are not taken (a chart's buckets); 0: blocks only. -ENOMEM. */
int scan_plan(const struct scan_reach *reach, u64 from_ns, u64 to_ns, u64 period_max_ns, struct scan_plan *ret_plan);

/*
 * What is told of each row of the selection. time_ns is that of the row, or the
 * start of its period.
 */
struct scan_row {
	u32 epoch_index;
	const struct dict *dict;	/* until fn returns; who wants it longer holds it (store/dicts.h) */
	const struct block_row *row;
	const struct block_rows *rows;	/* its block, for threads, links and labels */
	const struct store_keys *keys;	/* of the selection */
	u64 time_ns;
	u64 period_ns;			/* of a roll-up, which begins at time_ns; 0: the time is the row's own */
	u64 block;			/* rows of one block have one number, and no others */
	bool is_instant;		/* all rows of the block have one time */
};
#define SCAN_LABEL_BYTES 40

/* What a row has of a label; scratch is for what has to be written out. */
struct str scan_label(const struct scan_row *row, enum store_label label, char scratch[SCAN_LABEL_BYTES]);

typedef int scan_fn(void *arg, const struct scan_row *row);

struct scan_options {
	u32 columns;			/* BLOCK_...: what fn looks at; without any a row is the sum of a series */
	u32 buckets;			/* 0, or: times matter only by scan_bucket() */
	u64 period_max_ns;		/* as above */
	u64 slack_ns;			/* with buckets: a time stands for as much before it */
	/* Told of each block before its rows, whatever is selected of them; may be NULL. */
	void (*block)(void *arg, u64 from_ns, u64 to_ns);
	bool or_rollups;		/* columns of details: also what only roll-ups have left, which have none */
	int (*make_room)(void *arg);	/* or NULL: arg gives back the dictionaries that it holds, for another's sake */
};

/* Which of so many equal parts of the selection a time is in. */
u32 scan_bucket(const struct store_selection *selection, u32 buckets, u64 time_ns);

/* The column that a label is read from; 0: it is one of the series. */
u32 scan_label_column(enum store_label label);

/*
 * The caller holds the store's lock. ret_plan (may be NULL) tells what was covered; it is the caller's to be done with.
 * -ENOMEM, -EIO.
 */
int scan(struct sqlite_store *store, const struct store_selection *selection, const struct scan_options *options,
	 scan_fn *fn, void *arg, struct scan_plan *ret_plan);

/* Does a filter let a value pass? */
bool scan_matches(const struct store_filter *filter, struct str text);

#endif
