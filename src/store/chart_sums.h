/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chart while it is summed up: a row of buckets for each value of a label. Names
 * past CHART_NAMES_MAX count as the first.
 */
#ifndef STORE_CHART_SUMS_H
#define STORE_CHART_SUMS_H

#include "base/arena.h"
#include "base/interner.h"
#include "profile/profile.h"
#include "store/store.h"

#define CHART_NAMES_MAX (1u << 20)

struct chart_sums {
	struct arena arena;
	struct interner names;
	u32 buckets;
	double *cells;		/* by name and bucket */
	u32 cell_cap;
	double *rest;		/* NULL, or the buckets of what has no name of its own */
};

void chart_sums_init(struct chart_sums *sums, u32 buckets);
void chart_sums_done(struct chart_sums *sums);

/* The buckets of a name, good until the next one. -ENOMEM, -E2BIG. */
int chart_sums_of(struct chart_sums *sums, struct str name, double **ret_cells);

/* The buckets of all that has no name of its own: the last line. -ENOMEM. */
int chart_sums_rest(struct chart_sums *sums, double **ret_cells);

/* Largest first; the lines past the limit become one. */
int chart_sums_chart(const struct chart_sums *sums, u32 lines_max, struct store_chart *ret_chart);

#endif
