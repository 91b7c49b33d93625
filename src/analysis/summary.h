/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a profile says, added up: one row for each function (or line,
 * executable, process, thread) with what was spent in it and below it.
 *
 *  - One sample type is summed. Counts of clock ticks become time: count x
 *    period; other units of time and size become nanoseconds and bytes.
 *  - total counts a row once per stack, however often recursion repeats it.
 *  - Sums saturate, they never wrap.
 *  - Work: each distinct stack is walked once. Memory: what the profile's
 *    own tables bound.
 *
 * A summary borrows the profile, which must outlive it unchanged. One thread.
 */
#ifndef ANALYSIS_SUMMARY_H
#define ANALYSIS_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/frames.h"
#include "base/cleanup.h"
#include "kinds/unit.h"

struct buf;
struct narrow;

/* what a row is, its name on the command line */
#define SUMMARY_BYS(X) \
	X(FUNCTION, "function") \
	X(PROCESS, "process") \
	X(THREAD, "thread") \
	X(EXECUTABLE, "executable") \
	X(LINE, "line")

enum summary_by {
#define X(name, text) SUMMARY_##name,
	SUMMARY_BYS(X)
#undef X
};

struct summary_options {
	enum summary_by by;
	const char *type;	/* the sample type to sum; NULL: the profile's default */
	bool physical;		/* inlined functions count as the one that they are compiled into */
	bool with_type;		/* frames of different types differ; for summary_narrow() */
	bool only_stacks;	/* no rows: the caller walks the stacks in another way */
};

struct summary_row {
	const struct frame *frame;	/* what it is called */
	s64 self, total;		/* of PROCESS and THREAD both are the same */
};

/* Samples with the same stack (and, by process or thread, of the same owner). */
struct summary_cell {
	u32 owner;			/* by PROCESS and THREAD: the number of a frame, a label; else FRAMES_NONE */
	u32 stack;
	s64 value;
};

struct summary {
	struct summary_row *rows;	/* largest self first */
	u32 row_count;
	s64 total;			/* of all samples */
	u64 sample_count;		/* events, where the profile tells, else samples */
	struct str type;		/* the sample type that was summed */
	enum unit unit;
	s64 period;			/* 0 if unknown; nanoseconds if unit is that */
	u64 time_unix_ns, duration_ns;	/* over all sets */
	u32 other_type_count;		/* sets of other sample types, not summed */
	struct frames frames;		/* functions where rows are processes or threads, and those too */
	struct table cells;		/* of struct summary_cell: the distinct stacks */
	struct calltree *narrowed;	/* what rows are of after summary_narrow(); else NULL */
};

/* -ENOENT if there is no such sample type, -ENOMEM, -E2BIG. A profile without samples is an empty summary. */
int summary_new(const struct profile *profile, const struct summary_options *options, struct summary **ret_summary);
void summary_free(struct summary *summary);
DEFINE_CLEANUP(struct summary *, summary_free)

/*
 * Leaves stacks and frames out: rows and total are of the rest, exactly. The summary was made with_type, so that kinds
 * can be told apart. -EINVAL and a sentence; -E2BIG: more than nodes_max nodes.
 */
int summary_narrow(struct summary *summary, enum summary_by by, struct narrow *narrow, u32 nodes_max, struct buf *why);

#endif
