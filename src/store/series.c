// SPDX-License-Identifier: Apache-2.0
#include "store/series.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/lock.h"
#include "store/sqlite.h"
#include "store/shared.h"

#define LEVEL_SHARE 64			/* a level takes at most this part of the store's size */
#define LEVEL_ROWS_MIN 64
#define ROWS_MAX (1u << 16)		/* of one answer, or one roll-up */
#define FUTURE_NS (3600 * SECOND_NS)	/* rows beyond are of a clock that was wrong, and would stand in the way */
#define BUSY_MS 1000			/* longer, and windows would be dropped for a row */
#define WINDOW_NS SECOND_NS		/* about how long a window is */

static u64 period_of(u32 level)
{
	return level ? store_period_ns[level] : WINDOW_NS;
}

void series_rows_done(struct series_rows *rows)
{
	free(rows->at);
	*rows = (struct series_rows){ 0 };
}

static int take_row(void *arg, const struct db_series *stored)
{
	struct series_rows *rows = arg;
	struct series_row *row;

	if (rows->count >= ROWS_MAX)
		return -E2BIG;
	if (array_reserve(&rows->at, &rows->cap, rows->count + 1, sizeof(*rows->at)) < 0)
		return -ENOMEM;
	row = &rows->at[rows->count];
	*row = (struct series_row){ .start_ns = stored->start_ns, .end_ns = stored->end_ns };
	if (row->end_ns < row->start_ns || series_row_unpack(stored->data, stored->bytes, row) < 0)
		rows->broken++;
	else
		rows->count++;
	return 0;
}

/* ---- Writing --------------------------------------------------------------------------- */

static int put_row(struct sqlite_store *store, u32 level, u64 start_ns, const struct series_row *row)
{
	_cleanup_(buf_done) struct buf packed;
	struct db_series stored = { .host = store->base.host, .level = level, .start_ns = start_ns,
				    .end_ns = row->end_ns };

	buf_init(&packed, SERIES_ROW_BYTES);
	series_row_pack(row, &packed);
	if (buf_err(&packed) < 0)
		return buf_err(&packed);
	stored.data = packed.data;
	stored.bytes = packed.len;
	return db_add_series(store->series_db, &stored);
}

/* Rows come in the order of time: a period is complete when one behind it is there. 1: it was rolled up. */
static int roll_up(struct sqlite_store *store, u32 level, u64 now_ns)
{
	_cleanup_(series_rows_done) struct series_rows rows = { 0 };
	u64 from_ns, start_ns, end_ns;
	struct series_row joined;
	int r = db_series_end(store->series_db, store->base.host, level, true, &from_ns);

	if (r == 0 && from_ns)
		from_ns += store_period_ns[level];
	if (r == 0)
		r = db_series_next(store->series_db, store->base.host, level - 1, from_ns, &start_ns);
	if (r < 0 || start_ns == UINT64_MAX)
		return r;
	start_ns = period_start(start_ns, level);
	end_ns = start_ns + store_period_ns[level];
	if (end_ns > now_ns)
		return 0;
	r = db_each_series(store->series_db, store->base.host, level - 1, start_ns, end_ns, take_row, &rows);
	if (r == 0 && rows.count)
		r = series_row_join(rows.at, rows.count, &joined);
	else if (r == 0)
		joined = (struct series_row){ .start_ns = start_ns, .end_ns = start_ns };
	/* The last window may have ended a little later. */
	if (r == 0 && joined.end_ns > end_ns)
		joined.end_ns = end_ns;
	if (r == 0)
		r = put_row(store, level, start_ns, &joined);
	return r < 0 ? r : 1;
}

static int trim(struct sqlite_store *store, u64 now_ns)
{
	u64 fits = store->bytes_max / LEVEL_SHARE / SERIES_ROW_BYTES;
	u64 before_ns = now_ns > store->age_max_ns ? now_ns - store->age_max_ns : 0;
	u32 keep = fits < LEVEL_ROWS_MIN ? LEVEL_ROWS_MIN : fits > ROWS_MAX ? ROWS_MAX : (u32)fits;
	int r = 0;

	for (u32 level = 0; level < DB_LEVELS && r >= 0; level++)
		r = db_drop_series(store->series_db, store->base.host, level, before_ns, now_ns + FUTURE_NS, keep);
	return r < 0 ? r : 0;
}

/* As long as they are there nothing is rolled up. */
static bool has_future(struct sqlite_store *store, u64 now_ns)
{
	u64 last_ns;

	for (u32 level = 0; level < DB_LEVELS; level++)
		if (db_series_end(store->series_db, store->base.host, level, true, &last_ns) == 0 &&
		    last_ns > now_ns + FUTURE_NS)
			return true;
	return false;
}

static int write_row(struct sqlite_store *store, const struct series_row *row)
{
	int r = put_row(store, 0, row->start_ns, row);
	bool is_time_to_trim = false;

	if (r == 0 && has_future(store, row->end_ns))
		r = trim(store, row->end_ns);
	for (u32 level = 1; level < DB_LEVELS && r == 0; level++) {
		/* Counting rows takes longer than adding one: once in ten minutes is enough. */
		while ((r = roll_up(store, level, row->start_ns)) > 0)
			is_time_to_trim |= level > 1;
	}
	return r == 0 && is_time_to_trim ? trim(store, row->end_ns) : r;
}

static int open_connection(struct sqlite_store *store)
{
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, 512);
	if (store->series_db)
		return 0;
	r = db_open(store->path, false, &store->series_db, &why);
	if (r == 0)
		db_set_patience(store->series_db, BUSY_MS);
	return r;
}

static int add_locked(struct sqlite_store *store, const struct series_row *row)
{
	int r = open_connection(store);

	if (r == 0)
		r = db_begin(store->series_db);
	if (r < 0)
		return r;
	r = write_row(store, row);
	if (r == 0)
		return db_commit(store->series_db);
	db_rollback(store->series_db);
	return r;
}

/* The profile of the same window comes next and changes the generation: pages that follow it ask once, not twice. */
int series_add(struct store *base, const struct series_row *row)
{
	struct sqlite_store *store = sqlite_store(base);

	if (row->end_ns <= row->start_ns)
		return -EINVAL;
	LOCKED(&store->series_lock);
	return add_locked(store, row);
}

static int add_to(void *arg, struct store *store)
{
	return series_add(store, arg);
}

int series_add_all(const struct series_row *row)
{
	struct series_row copy = *row;

	return store_each(add_to, &copy);
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* Does a coarser level know of something before what this one begins with? */
static bool reaches(struct db *db, const char *host, u32 level, u64 from_ns)
{
	u64 first_ns, coarser_ns;

	if (level + 1 == DB_LEVELS || db_series_end(db, host, level, false, &first_ns) < 0 ||
	    db_series_end(db, host, level + 1, false, &coarser_ns) < 0)
		return true;
	return coarser_ns == 0 ||
	       (first_ns && (first_ns <= from_ns || period_start(first_ns, level + 1) <= coarser_ns));
}

static int read_rows(struct db *db, const char *host, u64 from_ns, u64 to_ns, u32 rows_max, struct series_rows *rows)
{
	u64 at_ns = from_ns;
	u32 level = 0;
	int r = 0;

	while (level + 1 < DB_LEVELS &&
	       ((to_ns - from_ns) / period_of(level) > rows_max || !reaches(db, host, level, from_ns)))
		level++;
	for (level++; level-- > 0 && r == 0;) {
		/* One that began before may reach into the range. */
		u64 early_ns = at_ns == from_ns && at_ns > period_of(level) ? at_ns - period_of(level) : at_ns;

		r = db_each_series(db, host, level, early_ns, to_ns, take_row, rows);
		if (rows->count)
			at_ns = rows->at[rows->count - 1].end_ns;
	}
	return r;
}

/* What lies outside of the range, and what a roll-up of nothing left. */
static void keep_inside(struct series_rows *rows, u64 from_ns)
{
	u32 kept = 0;

	for (u32 i = 0; i < rows->count; i++)
		if (rows->at[i].end_ns > from_ns && rows->at[i].end_ns > rows->at[i].start_ns)
			rows->at[kept++] = rows->at[i];
	rows->count = kept;
}

int sqlite_series(struct store *base, const char *host, u64 from_ns, u64 to_ns, u32 rows_max,
		  struct series_rows *ret_rows)
{
	struct sqlite_store *store = sqlite_store(base);
	_cleanup_(series_rows_done) struct series_rows rows = { 0 };
	_cleanup_(db_closep) struct db *db = NULL;
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, 512);
	r = db_open(store->path, true, &db, &why);
	if (r == 0)
		r = read_rows(db, *host ? host : store->base.host, from_ns, to_ns, rows_max, &rows);
	if (r < 0)
		return r;
	keep_inside(&rows, from_ns);
	*ret_rows = rows;
	rows = (struct series_rows){ 0 };
	return 0;
}
