/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as wick_stacks has them: frames with all that is said of them, and a hash of that, which is
 * the same whatever process, machine or order of tables a stack comes from. So an address is left out of a
 * frame that has a name and no file behind it: of code that a runtime made it differs in every process.
 *
 * Borrows the profile.
 */
#ifndef CLICKHOUSE_STACKS_H
#define CLICKHOUSE_STACKS_H

#include "profile/profile.h"

struct columns;

struct stacks {
	const struct profile *profile;
	u64 *location_hashes, *stack_hashes;	/* 0: not known yet */
};

int stacks_init(struct stacks *stacks, const struct profile *profile);	/* -ENOMEM */
void stacks_done(struct stacks *stacks);

u64 stacks_hash(struct stacks *stacks, u32 stack);

/* profile.frame.type of the leaf, or "". */
struct str stacks_leaf_type(const struct stacks *stacks, u32 stack);

/* Adds a row of wick_stacks; the day counts from 1970 on. */
void stacks_add_row(struct stacks *stacks, u32 stack, u32 day, struct columns *columns);

#endif
