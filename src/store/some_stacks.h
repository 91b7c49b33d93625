/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stacks of the dictionaries some rules leave (analysis/narrow.h): found out once for all nodes of an epoch, when
 * its first row is met. Of a query, which holds the store's lock.
 */
#ifndef STORE_SOME_STACKS_H
#define STORE_SOME_STACKS_H

#include "store/scan.h"

struct narrow;

struct some_stacks {
	struct sqlite_store *store;
	const struct narrow *narrow;	/* NULL: all are left */
	struct some_stacks_epoch {
		u8 *is_left;		/* by node; NULL until the epoch is met */
		u32 count;
	} *epochs;
	u32 epoch_count;
};

/* -ENOMEM; done in any case. */
int some_stacks_init(struct some_stacks *stacks, struct sqlite_store *store, const struct narrow *narrow);
void some_stacks_done(struct some_stacks *stacks);

/* Is the row's stack left? 1, 0; -EINVAL: an expression takes too long; -ENOMEM, -E2BIG. */
int some_stacks_has(struct some_stacks *stacks, const struct scan_row *row);

#endif
