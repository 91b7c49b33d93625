/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionaries of a store that are in memory: that of the epoch which is written, and of others those that were
 * asked for last. What is not in memory is read from disk when a question meets a block of it.
 *
 *  - Together they take half of the memory budget at most (base/budget.h), one of them a quarter: then its epoch is
 *    full. Without a budget all stay. A store in memory has a limit of its own.
 *  - Whoever holds one between dicts_get() and dicts_put() also holds the store's lock, or its write_lock: then epochs
 *    stay where they are. Any thread.
 */
#ifndef STORE_DICTS_H
#define STORE_DICTS_H

#include <stdbool.h>

#include "base/budget.h"
#include "store/dict.h"

struct db;
struct sqlite_store;

struct epoch {
	s64 id;
	struct dict *dict;		/* NULL: not in memory */
	bool is_written;		/* it takes what comes, and is held for that */
	bool is_broken;			/* it could not be read, its blocks are lost */
	u32 chunk_count;
	u32 users;
	u64 used;			/* when it was last asked for, in numbers of times */
	struct budget_charge charge;
	struct dict_counts counts;	/* when it was last in memory */
};

/* What an epoch may take before the next begins. */
size_t dicts_epoch_most(const struct sqlite_store *store);

/* -EBADMSG: it is broken; -ENOMEM: there is no room beside what is used; -EIO. By db it is read. */
int dicts_get(struct sqlite_store *store, struct db *db, struct epoch *epoch, const struct dict **ret_dict);
void dicts_put(struct sqlite_store *store, struct epoch *epoch);

/* A new one, which is held until the next begins; the caller adds to it. */
void dicts_begin(struct sqlite_store *store, struct epoch *epoch, struct dict *dict);
void dicts_end(struct sqlite_store *store, struct epoch *epoch);

/* It has grown. */
void dicts_weigh(struct sqlite_store *store, struct epoch *epoch);

/* The epoch goes, and nobody uses it. */
void dicts_drop(struct sqlite_store *store, struct epoch *epoch);

#endif
