/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long threads wanted a CPU before they got one, each time: when, for how
 * long and whose it was. Made of lanes that know each switch
 * (analysis/lane_grid.h): samples of waits would not do, since what one weighs
 * is not how long it was.
 *
 * A wait that goes on when a window ends is told in two parts, one behind the
 * other; here it is one again. It counts where it began; one that had begun
 * before the range, at its start.
 */
#ifndef ANALYSIS_QUEUE_WAITS_H
#define ANALYSIS_QUEUE_WAITS_H

#include "analysis/lane_grid.h"

/* Rows of the heat map: below 1 us (1,024 ns), then twice as long each, at the end all of more than 8.6 s. */
#define QUEUE_ROWS 25
#define QUEUE_ROW_SHIFT 10
/* For percentiles: eight to an octave, from 128 ns on. */
#define QUEUE_STEPS 8
#define QUEUE_FIRST_OCTAVE 7
#define QUEUE_OCTAVES 34
#define QUEUE_COUNTS (1 + QUEUE_STEPS * QUEUE_OCTAVES)

struct queue_lengths {
	u64 count, sum_ns, longest_ns;
	u32 counts[QUEUE_COUNTS];
};

struct queue_waits {
	u32 columns, group_count;
	u32 *cells;			/* waits, by column and row */
	struct queue_lengths all;
	struct queue_lengths *groups;	/* by number */
};

/* -ENOMEM. */
int queue_waits_init(struct queue_waits *waits, u32 columns, u32 group_count);
void queue_waits_done(struct queue_waits *waits);

/* The moments of one lane, the last first. Of those past group_count only `all` and cells know. */
void queue_waits_add(struct queue_waits *waits, u64 from_ns, u64 to_ns, const struct lane_moment *moments, u32 count);

/* A length that so many of a hundred waits do not exceed, at most an eighth too long; 0 if there are none. */
u64 queue_lengths_percentile(const struct queue_lengths *lengths, double percent);

#endif
