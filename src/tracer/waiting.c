// SPDX-License-Identifier: Apache-2.0
#include "tracer/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proc/processes.h"
#include "tracer/record.h"

#define SHORTEST_BYTES (3 * SLICE_STEP_BYTES)	/* more stacks than not need no more */
#define OF_PROCESS_FREE 2	/* of what may wait for files, as many times what is free may be of one process */

void waiting_init(struct waiting *w, size_t max_bytes)
{
	*w = (struct waiting){ .max_bytes = max_bytes ? max_bytes : WAITING_BYTES_MAX };
}

/* The rest is for those that wait for their time alone. */
static size_t for_files_max(const struct waiting *w)
{
	return w->max_bytes / 8 * 7;
}

void waiting_done(struct waiting *w, struct processes *processes)
{
	for (u32 i = 0; i < w->count; i++) {
		if (w->at[i].process)
			process_release(processes, w->at[i].process);
		free(w->at[i].record);
	}
	free(w->at);
}

void waiting_add(struct waiting *w, const struct trace_record *record, size_t bytes)
{
	u32 slice_bytes = pending_slice_bytes(record, w->bytes, w->max_bytes);

	bytes -= record->slice_bytes - slice_bytes;
	if (w->bytes + bytes > w->max_bytes ||
	    array_reserve(&w->at, &w->cap, w->count + 1, sizeof(*w->at)) < 0 ||
	    pending_init(&w->at[w->count], record, slice_bytes) < 0) {
		w->full++;
		return;
	}
	w->count++;
	w->bytes += bytes;
}

void waiting_add_rest(struct waiting *w, const struct trace_record *rest)
{
	if (w->bytes + rest->slice_bytes <= w->max_bytes / 2)
		w->bytes += pending_add_rest(w->at, w->count, rest);
}

void waiting_sort(struct waiting *w)
{
	if (w->count)
		qsort(w->at, w->count, sizeof(*w->at), pending_compare);
}

void waiting_keep(struct waiting *w, u32 kept, u32 seen)
{
	if (seen != kept && seen < w->count)
		memmove(w->at + kept, w->at + seen, (w->count - seen) * sizeof(*w->at));
	w->count -= seen - kept;
}

static void shorten(struct waiting *w, struct pending *pending, u32 max_bytes)
{
	struct trace_record *record = pending->record, *shorter;
	u32 less = record->slice_bytes > max_bytes ? record->slice_bytes - max_bytes : 0;

	if (!less)
		return;
	record->slice_bytes = max_bytes;
	shorter = realloc(record, record_bytes(record));
	pending->record = shorter ? shorter : record;
	pending->process->waiting_bytes -= less;
	w->for_files_bytes -= less;
	w->bytes -= less;
}

static u32 longest_slice(const struct waiting *w)
{
	u32 longest = 0;

	for (u32 i = 0; i < w->count; i++)
		if (w->at[i].process && w->at[i].record->slice_bytes > longest)
			longest = w->at[i].record->slice_bytes;
	return longest;
}

/* Will there soon be no room for one more of a process? */
static bool is_tight(const struct waiting *w, const struct process *p)
{
	return p && p->waiting_bytes + for_files_max(w) / 16 >
		    OF_PROCESS_FREE * (for_files_max(w) - w->for_files_bytes);
}

void waiting_shorten(struct waiting *w)
{
	u32 max_bytes;

	if (w->for_files_bytes <= for_files_max(w) / 2)
		return;
	max_bytes = longest_slice(w) / 2 / SLICE_STEP_BYTES * SLICE_STEP_BYTES;
	for (; max_bytes >= SHORTEST_BYTES; max_bytes /= 2)
		for (u32 i = 0; i < w->count; i++)
			if (is_tight(w, w->at[i].process))
				shorten(w, &w->at[i], max_bytes);
}

/* A process alone has two thirds of all, of many each has the same part, and there is always some left for the next. */
bool waiting_has_room(const struct waiting *w, const struct process *p, const struct pending *pending)
{
	size_t bytes = record_bytes(pending->record), after = w->for_files_bytes + bytes;

	return pending->process || (after <= for_files_max(w) &&
				    p->waiting_bytes + bytes <= OF_PROCESS_FREE * (for_files_max(w) - after));
}

void waiting_hold(struct waiting *w, struct pending *pending, struct process *p)
{
	size_t bytes = record_bytes(pending->record);

	if (pending->process)
		return;
	pending->process = process_hold(p);
	p->waiting_bytes += (u32)bytes;
	w->for_files_bytes += bytes;
	w->for_files++;
}

void waiting_release(struct waiting *w, struct processes *processes, const struct pending *pending)
{
	size_t bytes = record_bytes(pending->record);

	w->bytes -= bytes;
	if (pending->process) {
		w->for_files--;
		w->for_files_bytes -= bytes;
		pending->process->waiting_bytes -= (u32)bytes;
		process_release(processes, pending->process);
	}
	free(pending->record);
}
