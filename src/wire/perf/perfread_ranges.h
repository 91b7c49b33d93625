/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies where in an address space: ranges that do not overlap, the newest
 * over the older ones. A forked process shares its parent's until one of them
 * changes.
 *
 * Bounded over all spaces of a file (struct perfread_ranges_budget): what does not
 * fit is left out, and counted.
 */
#ifndef WIRE_PERFREAD_RANGES_H
#define WIRE_PERFREAD_RANGES_H

#include "base/types.h"

#define PERFREAD_RANGES_MAX (4u << 20)		/* ranges, of all spaces together */
#define PERFREAD_RANGES_MOVED_MAX (4ull << 30)	/* ranges copied after forks, or moved to make room: seconds of work */

struct perfread_range {
	u64 start_va, end_va;
	u64 bias;		/* address + bias is what counts in the region */
	u32 region;		/* the caller's number */
	u32 pad;
};

struct perfread_ranges {
	struct perfread_range *at;	/* ascending */
	u32 count, cap;
	u32 refs;
	u64 change;			/* number of the last one; of no other space */
};

struct perfread_ranges_budget {
	u32 held;		/* ranges, of all spaces together */
	u64 moved, dropped;
	u64 changes;		/* of any space */
};

/* NULL without memory. */
struct perfread_ranges *perfread_ranges_new(void);
struct perfread_ranges *perfread_ranges_ref(struct perfread_ranges *maps);
void perfread_ranges_unref(struct perfread_ranges *maps, struct perfread_ranges_budget *budget);

/* Puts a range into a space, which is replaced by a copy if others share it. 0 also if it did not fit; -ENOMEM. */
int perfread_ranges_put(struct perfread_ranges **maps, struct perfread_ranges_budget *budget,
		      const struct perfread_range *map);

/* The range at an address, or NULL. */
const struct perfread_range *perfread_ranges_find(const struct perfread_ranges *maps, u64 va);

#endif
