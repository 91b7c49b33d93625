/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series of a store: a row for each window of this machine, and for what other hosts tell of themselves, and
 * roll-ups of 1 m, 10 m and 1 h. Each level keeps its newest rows, as many as fit in a small
 * part of the store's size: old ranges get coarser before they go.
 *
 * A connection of its own, locked here: any thread may add or read. What was added is there
 * after kill -9.
 *
 * That is a store of this machine. One whose rows are in ClickHouse (clickhouse_writer.h) keeps all of them until
 * they are too old, and sums up what is asked for; they are written a little later.
 */
#ifndef STORE_SERIES_H
#define STORE_SERIES_H

#include "store/series_row.h"
#include "store/store.h"

#define SERIES_ROWS_MAX (1u << 16)		/* of one answer */
#define SERIES_ROW_NS_MAX (60 * 1000000000ull)	/* no row of the finest level is longer */

/*
 * Keeps a row of this machine, rolls up what is complete, drops what is too old. -ENOSPC, -EROFS, -EIO, -EBUSY;
 * -ENOBUFS: too many wait to be written.
 */
int series_add(struct store *store, const struct series_row *row);

/* The same for every store that this process has open; the first error. */
int series_add_all(const struct series_row *row);

/* One of the hosts that tell of themselves. */
#define SERIES_HOST_BYTES DB_HOST_BYTES
struct series_other {
	const char *host;
	u32 parts;			/* it gets one of so many of the part of the store that others have together */
	u64 now_ns;			/* CLOCK_REALTIME here: rows that are far behind or ahead of it go */
	bool is_time_to_trim;		/* its rows are cut to that now; else each ten minutes that its rows tell of */
};

/*
 * A row of at most a minute. The caller sees to who may write of whom, and how often. -EDQUOT: there are too many
 * hosts, and all of them were heard of lately.
 */
int series_add_other(struct store *store, const struct series_other *other, const struct series_row *row);
int series_add_other_all(const struct series_other *other, const struct series_row *row);

struct series_rows {
	struct series_row *at;		/* in the order of time */
	u32 count, cap;
	u64 broken;			/* could not be read, and are left out */
};
void series_rows_done(struct series_rows *rows);

/*
 * What is known of a host, "" for this one, from the finest level that needs no more than about rows_max rows for
 * the range and reaches back to its start; what is not rolled up yet comes from finer ones.
 */
int series_read(struct store *store, const char *host, u64 from_ns, u64 to_ns, u32 rows_max,
		struct series_rows *ret_rows);

/* How long rows of about so many for a span are, as roll-ups have them; 0: rows as they were added. */
u64 series_period(u64 span_ns, u32 rows_max);

#endif
