/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether values of a selection can be added as they are. Samples of agents at different rates stand for different
 * times: where the periods of counted samples differ, each counts as its period, in nanoseconds.
 *
 * Rows come one after another, those of a series together. That a period differs is known only when it comes: what was
 * added before all had the first one, and is multiplied by it then.
 */
#ifndef STORE_WEIGH_H
#define STORE_WEIGH_H

#include <stdbool.h>

#include "base/str.h"
#include "base/types.h"

struct scan_row;

struct weigh {
	bool has_first, is_weighed, is_mixed;	/* mixed: units differ, so that sums have none */
	u32 epoch, series;			/* of the last row */
	char unit[64], period[32];		/* of the first, cut; period "" if they differ */
	s64 first_period_ns;
	s64 factor;				/* of the values of the row's series */
};

/* For each row, before its value is added: 1, or what all that was added so far is to be multiplied by. */
s64 weigh_series(struct weigh *weigh, const struct scan_row *row);

#define weigh_row(weigh, row)										\
	((weigh)->has_first && (weigh)->series == (row)->row->series && (weigh)->epoch == (row)->epoch_index ? \
	 1 : weigh_series(weigh, row))

/* What sums are in. */
struct str weigh_unit(const struct weigh *weigh);
struct str weigh_period(const struct weigh *weigh);

#endif
