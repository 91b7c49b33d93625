/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps profiles and answers questions about them: a struct store is the
 * first member of what a backend has, and these are its answers. store.h calls them; no one else does.
 *
 *	sqlite.c		the store of this machine, which is written by store_add() and has late names
 *	clickhouse.c		tables of a ClickHouse server, which exporters of any number of machines write;
 *				rows about machines, and notes, are written here
 *
 * Any thread may call any of it. Results are written only on success.
 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "store/lanes.h"
#include "store/notes.h"
#include "store/series.h"
#include "store/store.h"

struct store_ops {
	const char *name;
	bool narrows;		/* charts and values may be of some stacks only */
	bool has_labels;	/* answers know STORE_KEYS, STORE_KEY */

	/* nodes_max: 0 for all of them; else there are no groups. */
	int (*flame)(struct store *store, const struct store_selection *selection, enum store_label group_by,
		     u32 nodes_max, struct calltree **ret_flame);
	/* NULL: it has no samples, only sums. */
	int (*profile)(struct store *store, const struct store_selection *selection, const struct narrow *narrow,
		       struct profile **ret_profile, struct buf *why);
	int (*chart)(struct store *store, const struct store_selection *selection, enum store_label by,
		     u32 bucket_count, u32 lines_max, struct store_chart *ret_chart);
	int (*heat)(struct store *store, const struct store_selection *selection, struct store_heat *heat);
	/* NULL: it does not know what threads did when. */
	int (*lanes)(struct store *store, const struct store_selection *selection,
		     const struct store_lanes_options *options, struct store_lanes *ret_lanes);
	int (*values)(struct store *store, const struct store_selection *selection, enum store_label label, u32 max,
		      struct store_values *ret_values);
	int (*traces)(struct store *store, const struct store_selection *selection, bool by_span, u32 max,
		      struct store_traces *ret_traces);
	int (*series)(struct store *store, const char *host, u64 from_ns, u64 to_ns, u32 rows_max,
		      struct series_rows *ret_rows);
	/* other: NULL if it is this machine. Does not wait for what is elsewhere. */
	int (*add_series)(struct store *store, const struct series_other *other, const struct series_row *row);
	int (*add_note)(struct store *store, const struct store_note *note, u64 now_ns, s64 *ret_id);
	/* The same some time later, for who cannot wait; NULL: add_note() does not take long. */
	void (*tell_note)(struct store *store, const struct store_note *note);
	int (*drop_note)(struct store *store, s64 id);
	/* Of all hosts and services. */
	int (*each_note)(struct store *store, u64 from_ns, u64 to_ns, store_note_fn *fn, void *arg);
	int (*stats)(struct store *store, struct store_stats *ret_stats);
	u64 (*generation)(struct store *store);
	void (*explain)(struct store *store, struct buf *why);	/* NULL: errors are those of this machine */
	void (*free)(struct store *store);			/* accepts what is half built */
};

struct store {
	const struct store_ops *ops;
	char *host;
	char *directory;	/* NULL: it is not on this machine */
};

#endif
