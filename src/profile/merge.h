/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many profiles become one: the windows of a recording, or the files of a
 * period. Equal are
 *
 *	resources	by schema and attributes, in the order they are in
 *	scopes		by name, version, schema and attributes
 *	sets		by sample type, period type, period and attributes, in any order
 *	samples		by stack, link and attributes in any order, and whether
 *			they have values, times or both
 *
 *  - Values of equal samples are added up and saturate, times are strung
 *    together. The sum of all is the same in whichever order they come.
 *  - A joined set spans from the earliest start to the latest end. Its profile
 *    id and original payload stay only if it had one part.
 *  - Past times_max times, samples have sums only, all of them
 *    (merger_times_dropped()).
 *  - Profiles that are added are read, not kept. They must have passed
 *    profile_check().
 *
 * One thread owns a merger.
 */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct merger;
struct profile;

/* What a recording may keep: 16 million times are up to 512 MB while they grow. */
#define MERGE_TIMES_MAX (16u << 20)

int merger_new(u32 times_max, struct merger **ret_merger);
void merger_free(struct merger *merger);
DEFINE_CLEANUP(struct merger *, merger_free)

/* -ENOMEM or -E2BIG if no more fits: a part of the profile may have been added, and nothing is from then on. */
int merger_add(struct merger *merger, const struct profile *profile);

/* The profile of all that was added, the caller's to free. The merger is then good only to be asked and freed. */
struct profile *merger_finish(struct merger *merger);

bool merger_times_dropped(const struct merger *merger);

/* What it holds in memory, but for what it needs while it adds. */
size_t merger_bytes(const struct merger *merger);

#endif
