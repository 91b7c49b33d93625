/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the rows of one profile's tables are found in another's, to which they
 * were added.
 */
#ifndef PROFILE_REMAP_H
#define PROFILE_REMAP_H

#include "profile/profile.h"

struct remap {
	u32 *strings, *mappings, *locations, *functions, *links, *attributes, *stacks;
	u32 *list;			/* scratch */
	struct profile_line *lines;	/* scratch */
	u32 list_cap, line_cap;
};

void remap_done(struct remap *remap);

/* Adds all tables of from to into; -ENOMEM or -E2BIG. Forgets what it knew before. */
int remap_tables(struct remap *remap, struct profile *into, const struct profile *from);

struct profile_type remap_type(const struct remap *remap, struct profile_type type);

/* The list in order; good until the next call. */
int remap_attributes(struct remap *remap, struct indices attributes, struct indices *ret_list);

bool indices_sorted(struct indices list);
void indices_sort(u32 *at, u32 count);

#endif
