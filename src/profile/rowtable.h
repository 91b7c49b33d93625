/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a summary while it is made: equal names get equal numbers.
 * Two rows are the same if all but their sums is the same. Strings are
 * borrowed; those that are made up live in the table's arena.
 */
#ifndef PROFILE_ROWTABLE_H
#define PROFILE_ROWTABLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/interner.h"
#include "profile/summary.h"

#define ROWTABLE_NONE INTERNER_NONE

struct rowtable {
	struct arena arena;
	struct interner interner;
	struct buf key;			/* scratch */
	struct summary_row *rows;
	u32 count, cap;
};

void rowtable_init(struct rowtable *table);
void rowtable_done(struct rowtable *table);

/* The number of a row, added with zero sums if it is new; ROWTABLE_NONE if memory ran out. */
u32 rowtable_add(struct rowtable *table, const struct summary_row *row);

/* The row of an owner (process and thread). */
u32 rowtable_add_owner(struct rowtable *table, s64 pid, s64 tid, struct str name);

/* The rows of a location, innermost first. Returns how many there are, or -ENOMEM. */
int rowtable_add_location(struct rowtable *table, const struct profile *profile, u32 location,
			  const struct summary_options *options, u32 *ret_rows);

/* How many rows a location has: what ret_rows above must have room for. */
u32 rowtable_location_rows(const struct profile *profile, u32 location, const struct summary_options *options);

/* The order of rows of equal weight: by name, and all else that tells them apart. */
int summary_row_compare(const struct summary_row *a, const struct summary_row *b);

/* A copy of the rows that have a sum, largest self first. */
int rowtable_sorted(const struct rowtable *table, struct summary_row **ret_rows, u32 *ret_count);

#endif
