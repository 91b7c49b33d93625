/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locations of a profile under construction: frames with their names,
 * mappings and frame types, each made once.
 */
#ifndef PROFILE_BUILD_LOCATION_H
#define PROFILE_BUILD_LOCATION_H

#include "base/types.h"

struct build_locations;
struct profile;
struct symbolizer;
struct window;

/* Borrows all three. NULL for lack of memory. */
struct build_locations *build_locations_new(struct profile *profile, const struct window *window,
					    struct symbolizer *symbolizer);
void build_locations_free(struct build_locations *locations);

/* The location of a kernel address, of a user frame (bpf/abi.h), of a mark such as "[truncated]". */
u32 build_location_kernel(struct build_locations *locations, u64 va);
u32 build_location_user(struct build_locations *locations, u64 frame);
u32 build_location_mark(struct build_locations *locations, const char *mark);

#endif
