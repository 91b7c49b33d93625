/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of this machine, and what its parts share: sqlite.c keeps it, maintain.c rolls up and drops, scan.c reads,
 * naming.c has names.
 */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "store/backend.h"
#include "store/block.h"
#include "store/db.h"
#include "store/dicts.h"
#include "store/names.h"
#include "store/store.h"

#define EPOCHS_MAX 4096

/* How long a block of each level is; blocks of level 0 lie within a minute. */
extern const u64 store_period_ns[DB_LEVELS];

struct sqlite_store {
	struct store base;
	char *path;
	int lock_fd;
	u64 bytes_max, age_max_ns;
	struct label_rules labels;
	u64 memory_max;			/* of dictionaries; 0: the part of the budget that stores have */

	pthread_mutex_t write_lock;	/* of db: taken before `lock` */
	struct db *db;			/* the writers' */
	pthread_rwlock_t lock;		/* of epochs and their dictionaries, of rolled, and of names */
	struct names *names;
	struct epoch *epochs;		/* by id; the dictionary of the last is held */
	u32 epoch_count, epoch_cap;
	pthread_mutex_t dict_lock;	/* of which dictionaries are in memory; taken last */
	u64 dict_uses;
	u64 rolled_ns[DB_LEVELS];	/* until when each level is complete */

	pthread_mutex_t series_lock;
	struct db *series_db;		/* of series.c; NULL until a row comes */
	u64 others_rows;		/* of other hosts, that were written */

	_Atomic u64 uploads;		/* how many files with symbols came */
	_Atomic u64 generation, blocks_broken, times_wrong, labels_past_limit, labels_rolled_up;
};

/* A store that is known to be one. */
struct sqlite_store *sqlite_store(struct store *base);

/* Its answers, but for those in sqlite.c. */
int sqlite_flame(struct store *base, const struct store_selection *selection, enum store_label group_by, u32 nodes_max,
		 struct calltree **ret_flame);
int sqlite_chart(struct store *base, const struct store_selection *selection, enum store_label by, u32 bucket_count,
		 u32 lines_max, struct store_chart *ret_chart);
int sqlite_profile(struct store *base, const struct store_selection *selection, const struct narrow *narrow,
		   struct profile **ret_profile, struct buf *why);
int sqlite_heat(struct store *base, const struct store_selection *selection, struct store_heat *heat);
int sqlite_lanes(struct store *base, const struct store_selection *selection, const struct store_lanes_options *options,
		 struct store_lanes *ret_lanes);
int sqlite_values(struct store *base, const struct store_selection *selection, enum store_label label, u32 max,
		  struct store_values *ret_values);
int sqlite_traces(struct store *base, const struct store_selection *selection, bool by_span, u32 max,
		  struct store_traces *ret_traces);
int sqlite_series(struct store *base, const char *host, u64 from_ns, u64 to_ns, u32 rows_max,
		  struct series_rows *ret_rows);
int sqlite_add_series(struct store *base, const struct series_other *other, const struct series_row *row);
int sqlite_add_note(struct store *base, const struct store_note *note, u64 now_ns, s64 *ret_id);
int sqlite_drop_note(struct store *base, s64 id);
int sqlite_each_note(struct store *base, u64 from_ns, u64 to_ns, store_note_fn *fn, void *arg);

static inline u64 period_start(u64 time_ns, u32 level)
{
	return time_ns - time_ns % store_period_ns[level];
}

/* By id, or NULL. The lock is held. */
struct epoch *store_epoch(struct sqlite_store *store, s64 id);

/* Writes rows, which are folded here, as a block of a level; inside a transaction. */
int store_put_rows(struct sqlite_store *store, u32 level, s64 epoch, u64 start_ns, u64 end_ns, struct block_rows *rows);

/* Has a frame no name but an address in its file, or what an agent made of one? */
bool store_frame_place(const struct dict *dict, const struct dict_frame *frame, u64 *ret_address);

/* Late names from disk and, of what lacks one, from the dictionaries; without those of executables that are gone. */
int store_load_names(struct sqlite_store *store);
int store_forget_names(struct sqlite_store *store);

/* The name under which rolled_ns of a level is kept. */
const char *store_rolled_key(u32 level);

#endif
