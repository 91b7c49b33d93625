/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locations of a profile under construction: frames with their names,
 * mappings and frame types, each made once.
 */
#ifndef AGENT_LOCATIONS_H
#define AGENT_LOCATIONS_H

#include "base/types.h"

struct locations;
struct profile;
struct symbolizer;
struct window;

/* Borrows all three. NULL for lack of memory. */
struct locations *locations_new(struct profile *profile, const struct window *window,
					    struct symbolizer *symbolizer);
void locations_free(struct locations *locations);

/* The location of a kernel address, of a user frame (bpf/abi.h), of a mark such as "[truncated]". */
u32 locations_kernel(struct locations *locations, u64 va);
u32 locations_user(struct locations *locations, u64 frame);
u32 locations_mark(struct locations *locations, const char *mark);

#endif
