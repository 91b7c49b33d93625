/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives names to native frames that have none: locations with an address in
 * a mapping that has a build id, no lines, and no frame type but "native".
 * Addresses are those of the ELF file, as OpenTelemetry's profiler sends them,
 * or, if their mapping has bounds, within these, and so tell the offset in the file.
 *
 * One thread owns it; it may wait seconds for debuginfod.
 */
#ifndef NAMING_FRAME_NAMES_H
#define NAMING_FRAME_NAMES_H

#include <stdbool.h>

#include "base/types.h"

struct binary_finder;
struct profile;
struct symbol_name;
struct symbolizer;

struct frame_names_stats {
	u64 named, unnamed;	/* locations */
	u64 left;		/* past the maximum of a batch */
};

struct frame_names_options {
	u32 max;		/* locations that are looked up */
	u32 first, limit;	/* from which on, and before which they are; limit 0: all */
	bool trusts_paths;	/* files without an id are those of this machine */
};

/* -ENOMEM, -E2BIG. */
int frame_names_add(struct profile *profile, struct binary_finder *finder, struct symbolizer *symbolizer,
		    const struct frame_names_options *options, struct frame_names_stats *stats);

/* Gives one location its name. False: it is none. */
bool frame_names_set(struct profile *profile, u32 location, const struct symbol_name *name);

#endif
