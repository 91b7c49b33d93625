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
#define FUTURE_NS (3600 * SECOND_NS)	/* rows beyond are of a clock that was wrong, and would stand in the way */
#define BUSY_MS 1000			/* longer, and windows would be dropped for a row */
#define WINDOW_NS SECOND_NS		/* about how long a window is */
#define OTHERS_SHARE 8			/* all rows of other hosts take at most this part of the store's size */
#define OTHERS_MAX 1024			/* hosts */
#define OTHERS_SWEEP 1024		/* rows, after which all hosts are looked through for what is too old */
#define OTHERS_SILENT_NS (3600 * SECOND_NS)	/* a host that has to make room was not heard of for so long */

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

	if (rows->count >= SERIES_ROWS_MAX)
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

/* A host whose rows are written, how many of each level stay, and what the time is here. */
struct kept {
	struct sqlite_store *store;
	const char *host;
	u32 keep;
	u64 now_ns;
};

static int put_row(const struct kept *kept, u32 level, u64 start_ns, const struct series_row *row)
{
	_cleanup_(buf_done) struct buf packed;
	struct db_series stored = { .host = kept->host, .level = level, .start_ns = start_ns, .end_ns = row->end_ns };

	buf_init(&packed, SERIES_ROW_BYTES);
	series_row_pack(row, &packed);
	if (buf_err(&packed) < 0)
		return buf_err(&packed);
	stored.data = packed.data;
	stored.bytes = packed.len;
	return db_add_series(kept->store->series_db, &stored);
}

/* Rows come in the order of time: a period is complete when one behind it is there. 1: it was rolled up. */
static int roll_up(const struct kept *kept, u32 level, u64 now_ns)
{
	struct db *db = kept->store->series_db;
	_cleanup_(series_rows_done) struct series_rows rows = { 0 };
	u64 from_ns, start_ns, end_ns;
	struct series_row joined;
	int r = db_series_end(db, kept->host, level, true, &from_ns);

	if (r == 0 && from_ns)
		from_ns += store_period_ns[level];
	if (r == 0)
		r = db_series_next(db, kept->host, level - 1, from_ns, &start_ns);
	if (r < 0 || start_ns == UINT64_MAX)
		return r;
	start_ns = period_start(start_ns, level);
	end_ns = start_ns + store_period_ns[level];
	if (end_ns > now_ns)
		return 0;
	r = db_each_series(db, kept->host, level - 1, start_ns, end_ns, take_row, &rows);
	if (r == 0 && rows.count)
		r = series_row_join(rows.at, rows.count, &joined);
	else if (r == 0)
		joined = (struct series_row){ .start_ns = start_ns, .end_ns = start_ns };
	/* The last window may have ended a little later. */
	if (r == 0 && joined.end_ns > end_ns)
		joined.end_ns = end_ns;
	if (r == 0)
		r = put_row(kept, level, start_ns, &joined);
	return r < 0 ? r : 1;
}

static u64 rows_in(const struct sqlite_store *store, u64 share)
{
	return store->bytes_max / share / SERIES_ROW_BYTES;
}

static u32 rows_kept(u64 fits)
{
	return fits < LEVEL_ROWS_MIN ? LEVEL_ROWS_MIN : fits > SERIES_ROWS_MAX ? SERIES_ROWS_MAX : (u32)fits;
}

static int trim(const struct kept *kept)
{
	u64 now_ns = kept->now_ns;
	u64 before_ns = now_ns > kept->store->age_max_ns ? now_ns - kept->store->age_max_ns : 0;
	int r = 0;

	for (u32 level = 0; level < DB_LEVELS && r >= 0; level++)
		r = db_drop_series(kept->store->series_db, kept->host, level, before_ns, now_ns + FUTURE_NS,
				   kept->keep);
	return r < 0 ? r : 0;
}

/* As long as they are there nothing is rolled up. */
static bool has_future(const struct kept *kept)
{
	u64 last_ns;

	for (u32 level = 0; level < DB_LEVELS; level++)
		if (db_series_end(kept->store->series_db, kept->host, level, true, &last_ns) == 0 &&
		    last_ns > kept->now_ns + FUTURE_NS)
			return true;
	return false;
}

static int write_row(const struct kept *kept, const struct series_row *row, bool is_time_to_trim)
{
	int r = put_row(kept, 0, row->start_ns, row);

	if (r == 0 && has_future(kept))
		r = trim(kept);
	for (u32 level = 1; level < DB_LEVELS && r == 0; level++) {
		/* Counting rows takes longer than adding one: once in ten minutes is enough. */
		while ((r = roll_up(kept, level, row->start_ns)) > 0)
			is_time_to_trim |= level > 1;
	}
	return r == 0 && is_time_to_trim ? trim(kept) : r;
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

/* ---- Other hosts ------------------------------------------------------------------------- */

/* How many there are, and the one whose last row is the oldest. */
struct others {
	u32 count;
	char stalest[SERIES_HOST_BYTES];
	u64 stalest_ns;
};

static int look_at_others(struct sqlite_store *store, struct others *others)
{
	char host[SERIES_HOST_BYTES] = "";
	u64 last_ns;
	int r;

	*others = (struct others){ .stalest_ns = UINT64_MAX };
	while ((r = db_next_series_host(store->series_db, host, host)) > 0) {
		if (!strcmp(host, store->base.host))
			continue;
		r = db_series_end(store->series_db, host, 0, true, &last_ns);
		if (r < 0)
			break;
		others->count++;
		if (last_ns < others->stalest_ns) {
			others->stalest_ns = last_ns;
			memcpy(others->stalest, host, sizeof(host));
		}
	}
	return r;
}

/* A new one: if there are as many as there may be, that goes which was not heard of for longest. */
static int make_room(struct sqlite_store *store, u64 now_ns)
{
	u64 most = rows_in(store, OTHERS_SHARE) / DB_LEVELS / LEVEL_ROWS_MIN;
	struct others others;
	int r = look_at_others(store, &others);

	most = most < 1 ? 1 : most > OTHERS_MAX ? OTHERS_MAX : most;
	if (r < 0 || others.count < most)
		return r;
	if (others.stalest_ns + OTHERS_SILENT_NS > now_ns)
		return -EDQUOT;
	return db_drop_series_host(store->series_db, others.stalest);
}

/* What nobody writes to any more is trimmed by nobody else. */
static int sweep(struct sqlite_store *store, u64 now_ns)
{
	char host[SERIES_HOST_BYTES] = "";
	int r;

	while ((r = db_next_series_host(store->series_db, host, host)) > 0) {
		r = trim(&(struct kept){ store, host, SERIES_ROWS_MAX, now_ns });
		if (r < 0)
			break;
	}
	return r;
}

static int prepare_other(const struct kept *kept)
{
	struct sqlite_store *store = kept->store;
	u64 last_ns;
	int r = db_series_end(store->series_db, kept->host, 0, true, &last_ns);

	if (r == 0 && ++store->others_rows % OTHERS_SWEEP == 0)
		r = sweep(store, kept->now_ns);
	return r == 0 && !last_ns ? make_room(store, kept->now_ns) : r;
}

/* ---- Adding ------------------------------------------------------------------------------- */

static int add_locked(const struct kept *kept, const struct series_row *row, bool is_other, bool is_time_to_trim)
{
	struct sqlite_store *store = kept->store;
	int r = open_connection(store);

	if (r == 0)
		r = db_begin(store->series_db);
	if (r < 0)
		return r;
	if (is_other)
		r = prepare_other(kept);
	if (r == 0)
		r = write_row(kept, row, is_time_to_trim);
	if (r == 0)
		return db_commit(store->series_db);
	db_rollback(store->series_db);
	return r;
}

/* The profile of the same window comes next and changes the generation: pages that follow it ask once, not twice. */
static int add_own(struct sqlite_store *store, const struct series_row *row)
{
	const struct kept kept = { store, store->base.host, rows_kept(rows_in(store, LEVEL_SHARE)), row->end_ns };

	LOCKED(&store->series_lock);
	return add_locked(&kept, row, false, false);
}

/* Who sends this need not send profiles: nothing else tells pages of it. */
static int add_other(struct sqlite_store *store, const struct series_other *other, const struct series_row *row)
{
	u64 all = rows_in(store, OTHERS_SHARE) / DB_LEVELS, own = rows_in(store, LEVEL_SHARE);
	u64 fits = all / (other->parts ? other->parts : 1);
	const struct kept kept = { store, other->host, rows_kept(fits < own ? fits : own), other->now_ns };
	int r;

	LOCKED(&store->series_lock);
	r = add_locked(&kept, row, strcmp(other->host, store->base.host) != 0, other->is_time_to_trim);
	if (r == 0)
		atomic_fetch_add(&store->generation, 1);
	return r;
}

int sqlite_add_series(struct store *base, const struct series_other *other, const struct series_row *row)
{
	struct sqlite_store *store = sqlite_store(base);

	return other ? add_other(store, other, row) : add_own(store, row);
}

/* ---- To any store ------------------------------------------------------------------------- */

int series_add(struct store *store, const struct series_row *row)
{
	return row->end_ns <= row->start_ns ? -EINVAL : store->ops->add_series(store, NULL, row);
}

int series_add_other(struct store *store, const struct series_other *other, const struct series_row *row)
{
	if (row->end_ns <= row->start_ns || row->end_ns - row->start_ns > SERIES_ROW_NS_MAX || !*other->host ||
	    strlen(other->host) >= SERIES_HOST_BYTES)
		return -EINVAL;
	return store->ops->add_series(store, other, row);
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

struct other_row {
	const struct series_other *other;
	const struct series_row *row;
};

static int add_other_to(void *arg, struct store *store)
{
	const struct other_row *added = arg;

	return series_add_other(store, added->other, added->row);
}

int series_add_other_all(const struct series_other *other, const struct series_row *row)
{
	struct other_row added = { other, row };

	return store_each(add_other_to, &added);
}

/* ---- Reading ------------------------------------------------------------------------------ */

u64 series_period(u64 span_ns, u32 rows_max)
{
	u32 level = 0;

	while (level + 1 < DB_LEVELS && span_ns / period_of(level) > rows_max)
		level++;
	return level ? period_of(level) : 0;
}

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
		u64 back_ns = level ? period_of(level) : SERIES_ROW_NS_MAX;
		u64 early_ns = at_ns == from_ns && at_ns > back_ns ? at_ns - back_ns : at_ns;

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
