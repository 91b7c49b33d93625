/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds the stacks that `perf record --call-graph dwarf` has copied, with
 * the unwinder of `wick record` (bpf/native.h) and rows of the files that were
 * mapped: by build id, or where perf has noted none, those at the same paths, unless it was recorded elsewhere.
 *
 *  - Only of this architecture, which the caller sees to, and 64-bit programs.
 *  - Processes with more than PROC_MAPS_MAX mappings, and files past FINDER_MAX, are not unwound. Nor is anything once
 *    the mappings of processes that take turns were made ready PERF_UNWIND_MAPS_MAX times in all.
 *
 * One thread owns it.
 */
#ifndef CMD_PERF_UNWIND_H
#define CMD_PERF_UNWIND_H

#include "base/cleanup.h"
#include "base/types.h"
#include "wire/perf/perfread.h"

#ifdef __aarch64__
#define PERF_UNWIND_ARCH "aarch64"
#else
#define PERF_UNWIND_ARCH "x86_64"
#endif

#define PERF_UNWIND_MAPS_MAX (256u << 20)	/* seconds of work */

struct perf_unwind;
struct reader;

/* Borrows the reader. NULL without memory. */
struct perf_unwind *perf_unwind_new(struct reader *reader);
void perf_unwind_free(struct perf_unwind *unwind);
DEFINE_CLEANUP(struct perf_unwind *, perf_unwind_free)

/* For struct perfread_options; arg is the unwinder. */
u32 perf_unwind_stack(void *arg, const struct perfread_about *about, const struct perfread_system *system,
		      const struct perfread_sample *sample, u64 ret_va[PERFREAD_UNWOUND_MAX]);

#endif
