/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two summaries side by side: rows are matched by name (and file and line
 * where they have them, not by process or thread number), and ordered by how
 * much their share changed. Borrows both.
 */
#ifndef ANALYSIS_DIFFERENCE_H
#define ANALYSIS_DIFFERENCE_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct summary;
struct frame;

struct difference_side {
	s64 self, total;		/* 0 where the row is missing */
	double self_share, total_share;	/* of that side's total, 0 to 1 */
};

struct difference_row {
	const struct frame *frame;	/* the name, of either side */
	struct difference_side before, after;
};

struct difference {
	struct difference_row *rows;	/* largest change of share first, either way */
	u32 row_count;
};

/* by_total: order by the change of total instead of self. */
int difference_new(const struct summary *before, const struct summary *after, bool by_total,
		   struct difference **ret_difference);
void difference_free(struct difference *difference);
DEFINE_CLEANUP(struct difference *, difference_free)

#endif
