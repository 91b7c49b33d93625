/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of one profile added to those of another, and where each row
 * went: new index = remap.x[old index]. The source must have passed
 * profile_check().
 */
#ifndef PROFILE_REMAP_H
#define PROFILE_REMAP_H

#include "abi.h"
#include "base/cleanup.h"

struct profile;

struct remap {
	u32 *strings, *functions, *attributes, *mappings, *locations, *links, *stacks;
};

/* -ENOMEM, or what profile_err(to) says. */
int remap_init(struct remap *remap, struct profile *to, const struct profile *from);
void remap_done(struct remap *remap);

#endif
