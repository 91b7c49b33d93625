/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the frames of a perf.data file, from files of this machine:
 *
 *	native		by build id, as the symbolize processor does; debuginfod if $DEBUGINFOD_URLS is set.
 *			Without one by path, unless the file was recorded elsewhere
 *	kernel		/proc/kallsyms, if it is the running kernel; if it was started again since, where it lies now
 *	generated code	/tmp/perf-PID.map, likewise
 *
 * What is found nowhere stays an address.
 */
#ifndef CMD_PERF_NAMES_H
#define CMD_PERF_NAMES_H

#include <stdbool.h>

#include "base/types.h"

struct binary_finder;
struct perfread_about;
struct profile;
struct symbolizer;

struct perf_names_stats {
	bool is_other_kernel;		/* kernel frames have no names because of that */
	const char *kernel_problem;	/* "" or a sentence; the symbolizer's */
};

/* Was the file recorded on this machine, as far as it says? Then paths are those of its files, too. */
bool perf_names_may_be_here(const struct perfread_about *about);

/* -ENOMEM, -E2BIG. */
int perf_names_add(struct profile *profile, const struct perfread_about *about, struct binary_finder *finder,
		   struct symbolizer *symbolizer, struct perf_names_stats *ret_stats);

#endif
