// SPDX-License-Identifier: Apache-2.0
/* Housekeeping: roll-ups of what is complete, and room for what comes. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/lock.h"
#include "store/sqlite.h"

#define GRACE_NS (10 * SECOND_NS)	/* what comes later than this is late: it gets a roll-up of its own */
#define DROP_BLOCKS 64			/* in one step */
#define SHRINK_PAGES 256

/* ---- Roll-ups ---------------------------------------------------------------------- */

/* The rows of a period, by the epoch that they are of. */
struct gathered {
	s64 epoch;
	struct block_rows rows;
};

struct gather {
	struct sqlite_store *store;
	struct block_rows rows;		/* of the block that is read */
	struct gathered *at;
	u32 count, cap;
};

static void gather_done(struct gather *g)
{
	for (u32 i = 0; i < g->count; i++)
		block_rows_done(&g->at[i].rows);
	free(g->at);
	block_rows_done(&g->rows);
}

static struct gathered *gather_epoch(struct gather *g, s64 epoch)
{
	for (u32 i = 0; i < g->count; i++)
		if (g->at[i].epoch == epoch)
			return &g->at[i];
	if (array_reserve(&g->at, &g->cap, g->count + 1, sizeof(*g->at)) < 0)
		return NULL;
	g->at[g->count].epoch = epoch;
	block_rows_init(&g->at[g->count].rows);
	return &g->at[g->count++];
}

/* Many blocks of a period hold the same stacks: joined now and then, they stay few. */
static int gather_rows(struct gathered *into, const struct block_rows *rows)
{
	int r = 0;

	if (into->rows.count + rows->count > BLOCK_ROWS_MAX / 2)
		block_rows_fold(&into->rows, true);
	for (u32 i = 0; i < rows->count && r == 0; i++)
		r = block_rows_add(&into->rows, &rows->rows[i]);
	return r;
}

static int gather_block(void *arg, struct db_block *block)
{
	struct gather *g = arg;
	struct epoch *epoch = store_epoch(g->store, block->epoch);
	struct block_bytes bytes = { .data = block->data, .data_bytes = block->data_bytes };
	const struct dict *dict;
	struct gathered *into;
	int r = epoch ? dicts_get(g->store, g->store->db, epoch, &dict) : -EBADMSG;

	if (r == 0) {
		r = block_unpack(&bytes, dict, BLOCK_NODE | BLOCK_VALUE, &g->rows);
		dicts_put(g->store, epoch);
	}
	if (r == -EBADMSG) {
		atomic_fetch_add(&g->store->blocks_broken, 1);
		return 0;
	}
	if (r < 0)
		return r;
	into = gather_epoch(g, block->epoch);
	return into ? gather_rows(into, &g->rows) : -ENOMEM;
}

static int roll_up(struct sqlite_store *store, u32 level, u64 start_ns)
{
	_cleanup_(gather_done) struct gather g = { .store = store };
	u64 end_ns = start_ns + store_period_ns[level];
	int r;

	block_rows_init(&g.rows);
	r = db_each_block(store->db, level - 1, start_ns, end_ns, true, gather_block, &g);
	if (r == 0)
		r = db_begin(store->db);
	for (u32 i = 0; i < g.count && r == 0; i++)
		r = store_put_rows(store, level, g.at[i].epoch, start_ns, end_ns - 1, &g.at[i].rows);
	if (r == 0)
		r = db_set(store->db, store_rolled_key(level), (s64)end_ns);
	if (r == 0)
		r = db_commit(store->db);
	if (r < 0) {
		db_rollback(store->db);
		return r;
	}
	pthread_rwlock_wrlock(&store->lock);
	store->rolled_ns[level] = end_ns;
	pthread_rwlock_unlock(&store->lock);
	return 1;
}

static int first_start(void *arg, struct db_block *block)
{
	*(u64 *)arg = block->start_ns;
	return -ECANCELED;
}

/* The next period of a level that has something in it and is over: 1 if there was one. */
static int roll_level(struct sqlite_store *store, u32 level, u64 now_ns)
{
	u64 next_ns = UINT64_MAX, start_ns, complete_ns;
	int r;

	r = db_each_block(store->db, level - 1, store->rolled_ns[level], UINT64_MAX, false, first_start, &next_ns);
	if (r != -ECANCELED)
		return r;
	start_ns = period_start(next_ns, level);
	complete_ns = level == 1 ? now_ns - GRACE_NS : store->rolled_ns[level - 1];
	return start_ns + store_period_ns[level] <= complete_ns ? roll_up(store, level, start_ns) : 0;
}

/* ---- Retention ----------------------------------------------------------------------- */

static int drop(struct sqlite_store *store, u32 level, u64 before_ns)
{
	int r = db_begin(store->db), dropped;

	if (r < 0)
		return r;
	dropped = db_drop_blocks(store->db, level, before_ns, DROP_BLOCKS);
	r = dropped < 0 ? dropped : db_commit(store->db);
	if (r < 0)
		db_rollback(store->db);
	return r < 0 ? r : dropped;
}

static int drop_old(struct sqlite_store *store, u64 now_ns)
{
	int r = 0;

	for (u32 level = 0; level < DB_LEVELS && r == 0 && now_ns > store->age_max_ns; level++)
		r = drop(store, level, now_ns - store->age_max_ns);
	return r;
}

/* What a coarser level has too goes first, from the finest on; if that is nothing, what is oldest. */
static int drop_much(struct sqlite_store *store)
{
	u64 bytes;
	int r = db_bytes(store->db, &bytes);

	if (r < 0 || bytes <= store->bytes_max)
		return r;
	for (u32 level = 0; level + 1 < DB_LEVELS && r == 0; level++)
		r = drop(store, level, store->rolled_ns[level + 1]);
	for (u32 level = DB_LEVELS; level-- > 0 && r == 0;)
		r = drop(store, level, UINT64_MAX);
	return r;
}

static int drop_epochs(struct sqlite_store *store)
{
	s64 newest = store->epoch_count ? store->epochs[store->epoch_count - 1].id : 0;
	u32 kept = 0;
	int r;

	r = db_drop_epochs(store->db, newest);
	if (r <= 0)
		return r;
	pthread_rwlock_wrlock(&store->lock);
	for (u32 i = 0; i < store->epoch_count; i++) {
		struct epoch *epoch = &store->epochs[i];

		if (epoch->id == newest || db_has_epoch(store->db, epoch->id))
			store->epochs[kept++] = *epoch;
		else
			dicts_drop(store, epoch);
	}
	store->epoch_count = kept;
	r = store_forget_names(store);
	pthread_rwlock_unlock(&store->lock);
	return r < 0 ? r : 1;
}

static int maintain(struct sqlite_store *store, u64 now_ns)
{
	int r = 0;

	for (u32 level = 1; level < DB_LEVELS && r == 0; level++)
		r = roll_level(store, level, now_ns);
	if (r != 0)
		return r;
	r = drop_old(store, now_ns);
	if (r == 0)
		r = drop_much(store);
	if (r <= 0)
		return r;
	r = drop_epochs(store);
	if (r >= 0)
		r = db_shrink(store->db, SHRINK_PAGES);
	atomic_fetch_add(&store->generation, 1);
	return r < 0 ? r : 1;
}

int store_maintain(struct store *base, u64 now_ns)
{
	struct sqlite_store *store = sqlite_store(base);

	LOCKED(&store->write_lock);
	return maintain(store, now_ns);
}
