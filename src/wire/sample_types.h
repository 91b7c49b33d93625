/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample types of a profile by name, for formats that show one at a time:
 * the default first. A type that only repeats another's ticks as time, as
 * pprof's cpu/nanoseconds does beside samples/count, is not listed.
 *
 * At most SAMPLE_TYPES_MAX; more are -E2BIG.
 */
#ifndef WIRE_SAMPLE_TYPES_H
#define WIRE_SAMPLE_TYPES_H

#include "base/arena.h"
#include "base/types.h"

#define SAMPLE_TYPES_MAX 64

struct profile;

struct sample_types {
	const char *at[SAMPLE_TYPES_MAX];
	u32 count;
	struct arena arena;
};

int sample_types_init(struct sample_types *types, const struct profile *profile);
void sample_types_done(struct sample_types *types);

#endif
