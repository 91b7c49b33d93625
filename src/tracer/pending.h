/* SPDX-License-Identifier: Apache-2.0 */
/* A record that waits for its time, or for the files of its process: a copy, which grows as more of its slice comes. */
#ifndef TRACER_PENDING_H
#define TRACER_PENDING_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

struct process;

struct pending {
	u64 time_ns;
	struct trace_record *record;	/* to be freed */
	struct process *process;	/* held; it waits for the files of that one. NULL: for its time */
	u32 page;			/* ... for the rows of this one of the tables' pages; 0: for more */
};

/* How much of a slice is kept beside so many bytes of others, of so many: if many wait, rather short ones than none. */
u32 pending_slice_bytes(const struct trace_record *record, size_t pending_bytes, size_t max_bytes);

/* A copy, with so much of its slice. */
int pending_init(struct pending *pending, const struct trace_record *record, u32 slice_bytes);

/* Adds a record with TRACE_REST to its slice, the last of the list or nearly so. How many bytes were added. */
u32 pending_add_rest(struct pending *list, u32 count, const struct trace_record *rest);

/* For qsort(): by time. */
int pending_compare(const void *a, const void *b);

#endif
