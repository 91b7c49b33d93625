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
#ifndef PROFILE_SUMMARY_H
#define PROFILE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "kinds/unit.h"
#include "profile/profile.h"

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
};

struct summary_row {
	struct str name;	/* never empty: "[unknown]", "libx.so+0x1230" */
	struct str module;	/* FUNCTION, LINE: the file that holds the code; else empty */
	struct str file;	/* LINE: source file */
	s64 line;		/* LINE */
	s64 pid, tid;		/* PROCESS, THREAD: -1 if unknown */
	s64 self, total;	/* of PROCESS and THREAD both are the same */
};

/* Samples with the same stack (and, by process or thread, of the same row). */
struct summary_cell {
	u32 group;		/* by PROCESS and THREAD: the index in summary_group_rows(); else 0 */
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
	struct summary_private *private;
};

/* -ENOENT if there is no such sample type, -ENOMEM, -E2BIG. A profile without samples is an empty summary. */
int summary_new(const struct profile *profile, const struct summary_options *options, struct summary **ret_summary);
void summary_free(struct summary *summary);
DEFINE_CLEANUP(struct summary *, summary_free)

/* The distinct stacks, as they were added up; for those who walk them in another way. */
const struct summary_cell *summary_cells(const struct summary *summary, u32 *ret_count);

/* The frames of a location, innermost first: indices into summary_frame_rows(). Never empty. */
struct indices summary_frames(const struct summary *summary, u32 location);

/* What frames are called (functions where rows are processes or threads), and whose the cells' groups are. */
const struct summary_row *summary_frame_rows(const struct summary *summary, u32 *ret_count);
const struct summary_row *summary_group_rows(const struct summary *summary, u32 *ret_count);

#endif
