/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a store share: store.c keeps it, tend.c rolls up and drops, scan.c reads. */
#ifndef STORE_INSIDE_H
#define STORE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "store/block.h"
#include "store/db.h"
#include "store/dict.h"
#include "store/store.h"

#define EPOCHS_MAX 4096

/* How long a block of each level is; blocks of level 0 lie within a minute. */
extern const u64 store_period_ns[DB_LEVELS];

struct epoch {
	s64 id;
	struct dict *dict;	/* NULL: it could not be read, its blocks are lost */
	u32 chunk_count;
};

struct store {
	char *directory, *path, *host;
	int lock_fd;
	u64 bytes_max, age_max_ns;

	struct db *db;			/* the writer's */
	pthread_rwlock_t lock;		/* of epochs and their dictionaries, and of rolled */
	struct epoch *epochs;		/* by id */
	u32 epoch_count, epoch_cap;
	u64 rolled_ns[DB_LEVELS];	/* until when each level is complete */

	pthread_mutex_t series_lock;
	struct db *series_db;		/* of series.c; NULL until a row comes */

	_Atomic u64 generation, blocks_broken, times_wrong;
};

static inline u64 period_start(u64 time_ns, u32 level)
{
	return time_ns - time_ns % store_period_ns[level];
}

/* By id, or NULL. The lock is held. */
struct epoch *store_epoch(struct store *store, s64 id);

/* Writes rows, which are folded here, as a block of a level; inside a transaction. */
int store_put_rows(struct store *store, u32 level, s64 epoch, u64 start_ns, u64 end_ns, struct block_rows *rows);

/* The name under which rolled_ns of a level is kept. */
const char *store_rolled_key(u32 level);

#endif
