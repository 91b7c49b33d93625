/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds a copied slice of a stack with the same code and tables as the
 * kernel half: for the first samples of a process, taken before its tables
 * were there.
 */
#ifndef TRACER_SLICE_H
#define TRACER_SLICE_H

#include "abi.h"

struct tables;
struct unwind;

/*
 * The frames of the slice in a record (its words behind it), by the mappings
 * [map_first, map_first + map_count) of the tables. They are left in u->words,
 * u->trace.user_count of them; u->trace.end says how the stack ended.
 */
void slice_unwind(struct unwind *u, const struct tables *tables, const struct trace_record *record, u32 map_first,
		  u32 map_count, u64 user_va_mask);

#endif
