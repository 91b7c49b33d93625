/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps profiles and answers questions about them.
 *
 *	store_add()		a profile becomes a block for each host in it
 *	store_maintain()	closed minutes, ten minutes and hours become roll-ups; what is too old or too much goes
 *	store_flame()		merges a selection into one tree of functions
 *
 * In a full store old ranges get coarser before they vanish: blocks go first, then
 * the roll-ups of a minute, of ten minutes, of an hour.
 *
 * A directory holds one store and is locked by the process that has it open. kill -9 at any moment loses at most what
 * was not committed: the last window. A file that is broken is set aside, and a new one begun.
 *
 * Any thread may call any of it: writers take turns, each query has a connection of its own.
 *
 * Queries have two implementations (backend.h): that of this directory, and the tables of a ClickHouse server. All else
 * here is for a store of this machine.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "store/db.h"
#include "store/label_rules.h"
#include "store/labels.h"
#include "store/names.h"

struct buf;
struct calltree;
struct narrow;
struct profile;
struct store;

struct store_options {
	const char *directory;
	u64 bytes_max;		/* of the file; 0: 1 GiB */
	u64 age_max_ns;		/* 0: 7 days */
	const char *host;	/* this machine's name, for resources that have none */
	struct label_rules labels;	/* which are kept; copied */
};

/* -EBUSY: another wick has it, `why` says which. `notice` gets what was lost or set aside, if anything. */
int store_open(const struct store_options *options, struct store **ret_store, struct buf *why, struct buf *notice);
void store_close(struct store *store);
DEFINE_CLEANUP(struct store *, store_close)

/*
 * A profile alone, in memory of at most bytes_max: asked as others are, never written to disk, gone when it is closed.
 * When its samples were taken, and what SQLite has of the memory, goes to ret_span. -ENOSPC: it does not fit.
 */
struct store_span {
	u64 first_ns, last_ns;
	u64 bytes;
};
int store_of_profile(const struct profile *profile, const char *host, u64 now_ns, u64 bytes_max,
		     struct store **ret_store, struct store_span *ret_span);

/*
 * -ENOSPC, -EROFS, -EIO: nothing was kept; store_error() says more. What is new in it is noted for the sender
 * (base/growth.h); GROWTH_LOCAL: this machine itself.
 */
int store_add(struct store *store, const struct profile *profile, u64 sender, u64 now_ns);
const char *store_error(struct store *store);

/* Of a store that is on this machine; NULL: it is not. */
const char *store_directory(const struct store *store);

/* "sqlite" or "clickhouse". */
const char *store_backend(const struct store *store);

/* Does it answer questions for label.KEY, and for the keys that there are? */
bool store_has_labels(const struct store *store);

/* This machine's name, as it was opened with. */
const char *store_host(const struct store *store);

/* A step of housekeeping, some milliseconds long. 1 if there is more to do, 0, -errno. */
int store_maintain(struct store *store, u64 now_ns);

/* ---- Late names -------------------------------------------------------------------- */

#define STORE_UNNAMED_MAX (1u << 17)	/* addresses at a time */

/* Addresses of an executable that have no name. */
struct store_unnamed {
	char *build_id, *path;
	u64 *addresses;
	u32 count;
};
void store_unnamed_done(struct store_unnamed *unnamed);

/*
 * The next executable with some that were not asked for yet, or with any if that is retry_ns ago (CLOCK_MONOTONIC):
 * 1 if there is one, 0, -ENOMEM. And those of one by its build id: -ENOENT.
 */
int store_next_unnamed(struct store *store, u64 now_ns, u64 retry_ns, struct store_unnamed *ret_unnamed);
int store_unnamed_of(struct store *store, const char *build_id, struct store_unnamed *ret_unnamed);

/* What was found: an address belongs to the function that starts there; function is "" if that has no name. */
struct store_name {
	u64 address, start;
	const char *function, *file;
	enum name_source source;
};
/* Old rows have these names from now on. How many addresses have a name that had none; -errno: not on disk. */
int store_put_names(struct store *store, const char *build_id, const struct store_name *at, u32 count);

/* A file with symbols was put into the store's directory; how often that was. Who has looked before looks again. */
void store_note_upload(struct store *store);
u64 store_uploads(struct store *store);

/* ---- Queries ---------------------------------------------------------------------- */

enum store_match { STORE_EQUAL, STORE_NOT_EQUAL, STORE_CONTAINS };

struct store_filter {
	enum store_label label;
	enum store_match match;
	const char *value;
};

#define STORE_FILTERS_MAX 32
#define STORE_KEYS_MAX 32

/* Those that label.KEY stands for in a question: STORE_KEY + i is at[i]. */
struct store_keys {
	const char *at[STORE_KEYS_MAX];
	u32 count;
};

struct store_selection {
	u64 from_ns, to_ns;		/* CLOCK_REALTIME; to is not in it */
	struct store_filter filters[STORE_FILTERS_MAX];
	u32 filter_count;
	const struct narrow *narrow;	/* of charts and values: only of stacks that it leaves; NULL: of all */
	const struct store_keys *keys;	/* that filters and groups ask for; NULL: none */
};

/* group_by: STORE_LABEL_COUNT for none; else the outermost frames are that label's values. */
int store_flame(struct store *store, const struct store_selection *selection, enum store_label group_by,
		struct calltree **ret_flame);

/*
 * The same without groups, for who shows only the nodes_max largest nodes, at least 1: of those that are smaller some
 * or all are missing. What is there has its whole total, as if nothing were.
 */
int store_flame_largest(struct store *store, const struct store_selection *selection, u32 nodes_max,
			struct calltree **ret_flame);

/*
 * Everything that is kept of a selection, as a profile: who, when, on which thread and CPU. Of more than some millions
 * of samples: sums by who and stack. -EOPNOTSUPP: this store has sums only; -EINVAL and a sentence.
 */
int store_profile(struct store *store, const struct store_selection *selection, const struct narrow *narrow,
		  struct profile **ret_profile, struct buf *why);

/*
 * Sums over time: at most bucket_count buckets between from and to, none shorter than some periods of sampling, of each
 * of the largest values of a label. A sample stands for the period before it; a profile that does not say when its
 * samples were taken for one CPU, from its time on.
 */
struct store_chart {
	u32 line_count;
	u32 bucket_count;
	bool *watched;			/* by bucket: did anybody sample then? NULL: not known */
	struct store_line {
		char *name;		/* of the label's value; "" for all of it, and for what has none */
		double *buckets;	/* CPUs where the period is known, else values per second */
		double total;
	} *lines;			/* largest first, the rest summed up in the last one */
};
/* -EOPNOTSUPP: this store cannot tell of some stacks only. */
int store_chart(struct store *store, const struct store_selection *selection, enum store_label by, u32 bucket_count,
		u32 lines_max, struct store_chart *ret_chart);
void store_chart_done(struct store_chart *chart);

/* Samples by second and part of it, from their own times: rows parts a second. */
struct store_heat {
	u64 from_ns;
	u32 seconds, rows;
	u32 *cells;			/* seconds x rows, by second */
	u32 max;
};
int store_heat(struct store *store, const struct store_selection *selection, u32 rows, struct store_heat *ret_heat);
void store_heat_done(struct store_heat *heat);

/*
 * The values of a label in a selection with what they sum up to, largest first; of STORE_KEYS the keys that there are.
 * -EOPNOTSUPP: as above.
 */
struct store_values {
	u32 count;
	struct store_value {
		char *text;
		s64 total;
	} *at;
};
int store_values(struct store *store, const struct store_selection *selection, enum store_label label, u32 max,
		 struct store_values *ret_values);
void store_values_done(struct store_values *values);

/* Traces, or their spans, that samples were taken in: those with the most first. Only blocks know of them. */
struct store_traces {
	u32 count;
	u64 left_out;			/* samples of traces past a limit */
	struct store_trace {
		char trace[33], span[17];	/* in hexadecimal digits; span "" of traces */
		u32 spans;			/* how many were seen of a trace */
		u64 samples;
		s64 value;
		u64 first_ns, last_ns;
		char *host, *service, *process;	/* of the first sample */
	} *at;
};
int store_traces(struct store *store, const struct store_selection *selection, bool by_span, u32 max,
		 struct store_traces *ret_traces);
void store_traces_done(struct store_traces *traces);
void store_trace_done(struct store_trace *trace);

struct store_stats {
	struct db_level levels[DB_LEVELS];
	u64 bytes, bytes_max;
	u32 epochs;
	u64 nodes, frames, series;
	struct names_stats names;
	u64 blocks_broken;		/* could not be read, and were left out of an answer */
	u64 times_wrong;		/* samples whose time cannot be, kept under that of their arrival */
	u64 labels_past_limit;		/* samples whose labels are [other], or not all kept */
	u64 labels_rolled_up;		/* sums of roll-ups whose labels became [other] there */
	u64 generation;			/* grows with every change */
};
/* Counts every block; what only wants to know whether something changed asks for the generation. */
int store_stats(struct store *store, struct store_stats *ret_stats);
u64 store_generation(struct store *store);

/* What to say of the last answer that was -EIO; adds nothing if that says it all. */
void store_explain(struct store *store, struct buf *why);

#endif
