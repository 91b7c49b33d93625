// SPDX-License-Identifier: Apache-2.0
#include "tracer/pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/record.h"

#define BEHIND_MAX 256u		/* records of other CPUs that may come between a slice and more of it */

u32 pending_slice_bytes(const struct trace_record *record, size_t pending_bytes, size_t max_bytes)
{
	u32 max = record->slice_bytes;

	if (pending_bytes > max_bytes / 4 * 3 && max > SLICE_STEP_BYTES)
		max = SLICE_STEP_BYTES;
	return pending_bytes > max_bytes / 8 * 7 ? 0 : max;
}

int pending_init(struct pending *pending, const struct trace_record *record, u32 slice_bytes)
{
	size_t bytes = record_bytes(record) - record->slice_bytes + slice_bytes;
	struct trace_record *copy = malloc(bytes);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, bytes);
	copy->slice_bytes = slice_bytes;
	*pending = (struct pending){ .time_ns = record->time_ns, .record = copy };
	return 0;
}

static bool is_rest_of(const struct pending *slice, const struct trace_record *rest)
{
	return slice->time_ns == rest->time_ns && slice->record->tid == rest->tid && slice->record->end == END_SLICE &&
	       !slice->process;
}

u32 pending_add_rest(struct pending *list, u32 count, const struct trace_record *rest)
{
	u32 i = count, first = count > BEHIND_MAX ? count - BEHIND_MAX : 0, step;
	struct trace_record *longer;

	while (i > first && !is_rest_of(&list[i - 1], rest))
		i--;
	/* One that was shortened does not go on where this begins. */
	if (i == first || list[i - 1].record->slice_bytes <= SLICE_BYTES_MAX - SLICE_STEP_BYTES)
		return 0;
	longer = realloc(list[i - 1].record, record_bytes(list[i - 1].record) + rest->slice_bytes);
	if (!longer)
		return 0;
	list[i - 1].record = longer;
	memcpy((u8 *)longer + record_bytes(longer), rest + 1, rest->slice_bytes);
	step = (longer->slice_bytes + SLICE_STEP_BYTES - 1) / SLICE_STEP_BYTES;
	longer->slice_holes |= step < 64 ? rest->slice_holes << step : 0;
	longer->slice_bytes += rest->slice_bytes;
	return rest->slice_bytes;
}

int pending_compare(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}
