/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread did, over buckets of time: from samples that say how long something went on.
 *
 * A sample of a wait stands for the time before it; how much, is what the samples of a thread add up to, not to the
 * moment when it began (docs/wall-time.md). So each goes into the time before it and before all that comes later, the
 * last one first: no bucket has more than there is time in it, and nothing is lost but what was before the first one.
 * Where all is known to the nanosecond (kind lanes), each begins at its time, and goes where it was.
 *
 * Of the thread that answers.
 */
#ifndef ANALYSIS_LANE_GRID_H
#define ANALYSIS_LANE_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"
#include "kinds/waits.h"

struct lane_moment {
	u64 at_ns, length_ns;
	u32 lane;
	u32 reason : 8;		/* enum wait_reason */
	u32 group : 24;		/* whose it is (analysis/queue_waits.h) */
};
#define LANE_NO_GROUP ((1u << 24) - 1)

struct lane_grid {
	u64 from_ns;
	double width_ns;	/* of a bucket */
	u32 count;		/* buckets */
	bool is_exact;
	double *cells;		/* by bucket and reason, in nanoseconds */
	u64 last_ns;		/* of the last sample behind the last bucket that tells of what is in one; else 0 */
};

/* -ENOMEM. */
int lane_grid_init(struct lane_grid *grid, u64 from_ns, u64 to_ns, u32 count);
void lane_grid_done(struct lane_grid *grid);

/* In the place of what was there: the moments of one lane, the last first. Those behind the last bucket count, too. */
void lane_grid_fill(struct lane_grid *grid, const struct lane_moment *moments, u32 count);

static inline const double *lane_grid_cell(const struct lane_grid *grid, u32 bucket)
{
	return &grid->cells[(size_t)bucket * REASON_COUNT];
}

#endif
