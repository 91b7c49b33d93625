/* SPDX-License-Identifier: Apache-2.0 */
/* All samples of a profile one after the other, with what they stand in; a place can be kept and gone on from. */
#ifndef CLICKHOUSE_WALK_H
#define CLICKHOUSE_WALK_H

#include <stdbool.h>

#include "profile/profile.h"

/* Begins as zeros. */
struct walk {
	u32 resource, scope, set, sample;
};

struct walk_sample {
	const struct profile_resource *resource;
	const struct profile_scope *scope;
	const struct profile_set *set;
	const struct profile_sample *sample;
};

/* The sample that it stands at; false at the end, where it stays. To pass it, add one to walk->sample. */
bool walk_sample(struct walk *walk, const struct profile *profile, struct walk_sample *ret_sample);

#endif
