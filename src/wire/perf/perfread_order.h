/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in the order of time. perf writes what each CPU's buffer held, one
 * after the other, and ends a round when it was at all of them: nothing that
 * comes later is older than what the round before had.
 *
 * A heap of at most PERFREAD_ORDER_MAX records; past that the oldest comes
 * out early. Equal times keep the order of the file.
 */
#ifndef WIRE_PERFREAD_ORDER_H
#define WIRE_PERFREAD_ORDER_H

#include <stdbool.h>

#include "base/types.h"

#define PERFREAD_ORDER_MAX (4u << 20)

struct perfread_order_entry {
	u64 time_ns, sequence, place;
};

struct perfread_order {
	struct perfread_order_entry *heap;
	u32 count, cap;
	u64 sequence;
	u64 newest_ns;		/* so far */
	u64 due_ns;		/* what is not newer may come out */
};

void perfread_order_done(struct perfread_order *order);

int perfread_order_add(struct perfread_order *order, u64 time_ns, u64 place);

/* A round has ended. */
void perfread_order_round(struct perfread_order *order);

/* The next one that is due, or of all if is_end. False: none. */
bool perfread_order_take(struct perfread_order *order, bool is_end, u64 *ret_place);

#endif
