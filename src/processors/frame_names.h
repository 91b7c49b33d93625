/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives names to native frames that have none: locations with an address in
 * a mapping that has a build id, no lines, and no frame type but "native".
 * Addresses are those of the ELF file, as OpenTelemetry's profiler sends them.
 *
 * One thread owns it; it may wait seconds for debuginfod.
 */
#ifndef PROCESSORS_FRAME_NAMES_H
#define PROCESSORS_FRAME_NAMES_H

#include "abi.h"

struct binary_finder;
struct profile;
struct symbolizer;

struct frame_names_stats {
	u64 named, unnamed;	/* locations */
	u64 left;		/* past the maximum of a batch */
};

/* Of at most max locations. -ENOMEM, -E2BIG. */
int frame_names_add(struct profile *profile, struct binary_finder *finder, struct symbolizer *symbolizer, u32 max,
		    struct frame_names_stats *stats);

#endif
