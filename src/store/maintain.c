// SPDX-License-Identifier: Apache-2.0
/* Housekeeping: roll-ups of what is complete, and room for what comes. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/lock.h"
#include "store/label_quota.h"
#include "store/sqlite.h"

#define GRACE_NS (10 * SECOND_NS)	/* what comes later than this is late: it gets a roll-up of its own */
#define DROP_BLOCKS 64			/* in one step */
#define SHRINK_PAGES 256
#define OWNERS_MAX (1u << 18)
#define OWNER_BYTES_MAX ((size_t)64 << 20)

/* ---- Roll-ups ---------------------------------------------------------------------- */

/* The rows of a period, by the epoch that they are of. */
struct gathered {
	s64 epoch;
	struct block_rows rows;
	struct label_quota quota;	/* of their labels */
};

struct gather {
	struct sqlite_store *store;
	struct block_rows rows;		/* of the block that is read */
	struct gathered **at;		/* they do not move: labels have pointers into themselves */
	u32 count, cap;
	struct arena arena;
	struct interner owners;		/* of labels: series without what is not whose they are */
};

static void gather_init(struct gather *g, struct sqlite_store *store)
{
	*g = (struct gather){ .store = store };
	block_rows_init(&g->rows);
	arena_init(&g->arena, OWNER_BYTES_MAX);
	interner_init(&g->owners, &g->arena, OWNERS_MAX);
}

static void gather_done(struct gather *g)
{
	for (u32 i = 0; i < g->count; i++) {
		atomic_fetch_add(&g->store->labels_rolled_up, g->at[i]->quota.past_limit);
		label_quota_done(&g->at[i]->quota);
		block_rows_done(&g->at[i]->rows);
		free(g->at[i]);
	}
	free(g->at);
	block_rows_done(&g->rows);
	interner_done(&g->owners);
	arena_done(&g->arena);
}

static int gather_epoch(struct gather *g, s64 epoch, struct gathered **ret_gathered)
{
	struct gathered *new;

	for (u32 i = 0; i < g->count; i++)
		if (g->at[i]->epoch == epoch) {
			*ret_gathered = g->at[i];
			return 0;
		}
	new = array_reserve(&g->at, &g->cap, g->count + 1, sizeof(*g->at)) < 0 ? NULL : calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->epoch = epoch;
	block_rows_init(&new->rows);
	label_quota_init(&new->quota, g->store->labels.max_sets);
	*ret_gathered = g->at[g->count++] = new;
	return 0;
}

/* Whose labels a row of a series has; those past the limit are taken for one. */
static u32 owner_of(struct gather *g, const struct dict *dict, u32 series)
{
	struct dict_series owner = *dict_series(dict, series);
	u32 number;

	owner.label[STORE_TYPE] = owner.label[STORE_UNIT] = owner.label[STORE_PERIOD] = owner.label[STORE_WAIT] = 0;
	number = interner_add(&g->owners, &owner, sizeof(owner), NULL);
	return number == INTERNER_NONE ? 0 : number;
}

/* A set of the labels of a series, as one of what was gathered. */
static int move_labels(struct gather *g, const struct dict *dict, const struct label_sets *sets,
		       const struct block_row *row, struct gathered *into, u32 *ret_set)
{
	struct label labels[LABELS_MAX];
	u32 count = label_sets_get(sets, row->labels, labels);

	*ret_set = 0;
	return count ? label_quota_add(&into->quota, owner_of(g, dict, row->series), labels, count, &into->rows.labels,
				       ret_set) : 0;
}

/* Shares become half of what they are until those who have most have made room. */
static int make_room(struct gather *g, const struct dict *dict, struct gathered *into)
{
	int r = 0;

	while (label_sets_count(&into->rows.labels) > LABEL_SETS_MAX / 4 * 3 && into->quota.share && r == 0) {
		struct label_sets all = into->rows.labels;
		u64 past_limit = into->quota.past_limit;
		u32 share = into->quota.share / 2;

		label_quota_done(&into->quota);
		label_quota_init(&into->quota, share);
		label_sets_init(&into->rows.labels);
		for (u32 i = 0, set; i < into->rows.count && r == 0; i++) {
			r = move_labels(g, dict, &all, &into->rows.rows[i], into, &set);
			into->rows.rows[i].labels = (u16)set;
		}
		into->quota.past_limit += past_limit;
		label_sets_done(&all);
	}
	return r;
}

/* The values of all labels are [other]. */
static int give_up_labels(struct block_rows *rows, struct label_quota *quota)
{
	int r = 0;

	for (u32 i = 0; i < rows->count && r != -ENOMEM; i++) {
		struct label labels[LABELS_MAX];
		u32 count = label_sets_get(&rows->labels, rows->rows[i].labels, labels), set = 0;

		for (u32 n = 0; n < count; n++)
			labels[n].value = STR(LABEL_OTHER);
		if (count)
			r = label_sets_add(&rows->labels, labels, count, &set);
		rows->rows[i].labels = r < 0 ? 0 : (u16)set;
		quota->past_limit += count > 0;
	}
	return r == -E2BIG ? 0 : r;
}

/* Many blocks of a period hold the same stacks: joined now and then, they stay few. If they do not, labels go. */
static int join_rows(struct gathered *into, u32 more)
{
	int r = 0;

	if (into->rows.count + more > BLOCK_ROWS_MAX / 2)
		block_rows_fold(&into->rows, true);
	if (into->rows.count + more > BLOCK_ROWS_MAX / 2 && label_sets_count(&into->rows.labels) > 1) {
		r = give_up_labels(&into->rows, &into->quota);
		block_rows_fold(&into->rows, true);
	}
	return r;
}

/* The rows of the block that was read. Those of a series and set stand together. */
static int gather_rows(struct gather *g, const struct dict *dict, struct gathered *into)
{
	u32 series = UINT32_MAX, from = 0, to = 0;
	int r = join_rows(into, g->rows.count);

	for (u32 i = 0; i < g->rows.count && r == 0; i++) {
		struct block_row row = g->rows.rows[i];

		if (row.series != series || row.labels != from) {
			series = row.series;
			from = row.labels;
			if (label_sets_count(&into->rows.labels) + 2 > LABEL_SETS_MAX)
				r = make_room(g, dict, into);
			if (r == 0)
				r = move_labels(g, dict, &g->rows.labels, &row, into, &to);
		}
		row.labels = (u16)to;
		if (r == 0)
			r = block_rows_add(&into->rows, &row);
	}
	return r;
}

static int gather_block(void *arg, struct db_block *block)
{
	struct gather *g = arg;
	struct epoch *epoch = store_epoch(g->store, block->epoch);
	struct block_bytes bytes = { .data = block->data, .data_bytes = block->data_bytes };
	struct gathered *into = NULL;
	const struct dict *dict;
	int r = epoch ? dicts_get(g->store, g->store->db, epoch, &dict) : -EBADMSG;

	if (r == 0) {
		r = block_unpack(&bytes, dict, BLOCK_NODE | BLOCK_VALUE | BLOCK_LABELS, &g->rows);
		if (r == 0)
			r = gather_epoch(g, block->epoch, &into);
		if (r == 0)
			r = gather_rows(g, dict, into);
		dicts_put(g->store, epoch);
	}
	if (r == -EBADMSG) {
		atomic_fetch_add(&g->store->blocks_broken, 1);
		return 0;
	}
	return r;
}

static int roll_up(struct sqlite_store *store, u32 level, u64 start_ns)
{
	_cleanup_(gather_done) struct gather g;
	u64 end_ns = start_ns + store_period_ns[level];
	int r;

	gather_init(&g, store);
	r = db_each_block(store->db, level - 1, start_ns, end_ns, true, gather_block, &g);
	if (r == 0)
		r = db_begin(store->db);
	for (u32 i = 0; i < g.count && r == 0; i++)
		r = store_put_rows(store, level, g.at[i]->epoch, start_ns, end_ns - 1, &g.at[i]->rows);
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
