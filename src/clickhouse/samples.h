/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as rows of wick_samples and wick_stacks, in pieces: a piece is what fits into a block. All stacks go
 * first, so that no sample is ever without its stack.
 *
 *	samples_init(); while ((r = samples_next_stacks(...)) > 0) send; while ((r = samples_next(...)) > 0) send;
 *
 * The same profile makes the same blocks of samples each time: what is sent again has the same bytes. So have, of times
 * that cannot be, blocks that differ only in them, which times_hash tells apart.
 */
#ifndef CLICKHOUSE_SAMPLES_H
#define CLICKHOUSE_SAMPLES_H

#include <stdbool.h>

#include "clickhouse/stacks.h"
#include "clickhouse/walk.h"

struct columns;
struct sent;

/* Of a block; the last row may go past it. */
#define SAMPLES_ROWS_MAX 65536u
#define SAMPLES_BYTES_MAX (16u << 20)

struct samples {
	const struct profile *profile;
	u64 now_ns, age_max_ns;
	struct stacks stacks;
	u32 *days;			/* of each stack: the last one that it was written for, + 1 */
	struct walk walk;		/* to the next row, */
	u32 time;			/* of that of the times of its sample */
	u64 times_wrong;		/* times that cannot be, of the rows written so far */
	u64 times_hash;			/* of those in the last block: its bytes do not have them; 0: it has none */
};

/* Times an hour later than now, or age_max_ns (0: 100 days, and no more) before it, become the hour of now. -ENOMEM. */
int samples_init(struct samples *samples, const struct profile *profile, u64 now_ns, u64 age_max_ns);
void samples_done(struct samples *samples);

/*
 * Fills a block, which is empty, with what comes next. How many rows; 0 at the end. -ENOMEM, -E2BIG.
 * Stacks that were sent are left out; keys gets those of the block, up to SAMPLES_ROWS_MAX.
 */
int samples_next_stacks(struct samples *samples, struct sent *sent, struct columns *stacks, u64 *keys);
int samples_next(struct samples *samples, struct columns *columns);

#endif
