/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did over time: how much of each bucket they ran, wanted a CPU, waited for what (analysis/lane_grid.h).
 * Only blocks know of threads and times: of what is left as roll-ups there is nothing.
 */
#ifndef STORE_LANES_H
#define STORE_LANES_H

#include "analysis/queue_waits.h"
#include "kinds/waits.h"
#include "store/store.h"

#define LANES_MOMENTS_MAX (1u << 20)	/* samples that are looked at */
#define LANES_THREADS_MAX (1u << 16)	/* more are counted */
#define LANES_TYPES 2
#define LANES_GROUPS_MAX 1024		/* whose waits for a CPU are told apart; more are only in the sum */

/* So long after it a wait is told of at the latest: windows are shorter. */
#define LANES_BEYOND_NS (15 * SECOND_NS)

/* Filters of the selection by type or reason are to be left out: types are these, which must be time or ticks of it. */
struct store_lanes_options {
	const char *types[LANES_TYPES];	/* NULL: one less */
	bool is_exact;			/* samples begin at their time, and are all that a thread did (kind lanes) */
	u32 buckets, lanes_max;
	enum store_label queue_by;	/* if exact: whose waits for a CPU they were; STORE_LABEL_COUNT: not asked */
};

struct store_lanes {
	u32 count;
	u32 threads;			/* that were seen, shown or not */
	u64 lost;			/* samples of threads past LANES_THREADS_MAX */
	struct store_lane {
		char *host, *process, *pid, *thread;
		u32 tid;		/* 0: not known */
		u64 last_ns;		/* the last sample that tells of the range is behind it, there; else 0 */
		u32 number;		/* as they were met */
		double total, sums[REASON_COUNT];	/* in the range, nanoseconds */
		double *cells;		/* by bucket and reason */
	} *at;				/* those that ran or wanted to run for longest first */
	struct queue_waits queue;	/* of all threads; without columns: not asked, or not known */
	char **queue_names;		/* of its groups */
};

/* -EOPNOTSUPP: the store does not know; -E2BIG: more than LANES_MOMENTS_MAX. */
int store_lanes(struct store *store, const struct store_selection *selection, const struct store_lanes_options *options,
		struct store_lanes *ret_lanes);
void store_lanes_done(struct store_lanes *lanes);

#endif
