// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_order.h"

#include <stdlib.h>

#include "base/array.h"

void perfread_order_done(struct perfread_order *o)
{
	free(o->heap);
}

static bool is_before(const struct perfread_order_entry *a, const struct perfread_order_entry *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->sequence < b->sequence;
}

int perfread_order_add(struct perfread_order *o, u64 time_ns, u64 place)
{
	struct perfread_order_entry entry = { time_ns, o->sequence++, place };
	int r = array_reserve(&o->heap, &o->cap, o->count + 1, sizeof(*o->heap));
	u32 at = o->count;

	if (r < 0)
		return r;
	o->count++;
	for (; at && is_before(&entry, &o->heap[(at - 1) / 2]); at = (at - 1) / 2)
		o->heap[at] = o->heap[(at - 1) / 2];
	o->heap[at] = entry;
	if (time_ns > o->newest_ns)
		o->newest_ns = time_ns;
	return 0;
}

void perfread_order_round(struct perfread_order *o)
{
	o->due_ns = o->newest_ns;
}

static void remove_first(struct perfread_order *o)
{
	struct perfread_order_entry last = o->heap[--o->count];
	u32 at = 0;

	for (;;) {
		u32 child = 2 * at + 1;

		if (child >= o->count)
			break;
		if (child + 1 < o->count && is_before(&o->heap[child + 1], &o->heap[child]))
			child++;
		if (!is_before(&o->heap[child], &last))
			break;
		o->heap[at] = o->heap[child];
		at = child;
	}
	o->heap[at] = last;
}

bool perfread_order_take(struct perfread_order *o, bool is_end, u64 *ret_place)
{
	if (!o->count)
		return false;
	if (!is_end && o->count < PERFREAD_ORDER_MAX && o->heap[0].time_ns > o->due_ns)
		return false;
	*ret_place = o->heap[0].place;
	remove_first(o);
	return true;
}
