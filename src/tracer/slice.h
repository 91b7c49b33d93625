/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds a copied slice of a stack with the same code and tables as the
 * kernel half: for the first samples of a process, taken before its tables
 * were there, for stacks through code whose rows are not in the kernel's
 * memory (they are put there), and for stacks with pages that the kernel half
 * cannot read.
 *
 * What lies beyond the copy is read from the process itself, if it is still
 * the same there: the outer frames of a stack hardly ever change within the
 * quarter of a second since the sample. A stack that does not end well with
 * that, or has a return address there that no call precedes, is cut where the
 * copy ends.
 */
#ifndef TRACER_SLICE_H
#define TRACER_SLICE_H

#include <stdbool.h>

#include "abi.h"

struct peek;
struct tables;
struct unwind;

/* What is known of the process. */
struct slice_process {
	u32 map_first, map_count;	/* its mappings in the tables */
	u32 slot;			/* the first of its runtimes', or 0 */
	u64 user_va_mask;
	bool may_read;			/* it still runs, and the same program */
	struct peek *peek;		/* ... if so */
	u64 serial;
};

#define SLICE_LIVE_PAGES_MAX 256

/*
 * The frames of the slice in a record (its words behind it). They are left in
 * u->words, u->trace.user_count words of them; u->trace.end says how the stack
 * ended. True if a part of it was read from the process.
 */
bool slice_unwind(struct unwind *u, struct tables *tables, const struct trace_record *record,
		  const struct slice_process *process);

#endif
