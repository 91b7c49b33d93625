/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many profiles become one: the windows of a recording, or the files of a
 * period. Equal resources, scopes, sample types and samples are joined; sums
 * saturate.
 *
 *  - Times of samples are kept up to MERGE_POINTS_MAX; past that, or if some
 *    profiles have times and others have not, samples have sums only, all of
 *    them (merger_times_dropped()).
 *  - Profiles that are added are read, not kept. They must have passed
 *    profile_check().
 *
 * One thread owns a merger.
 */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include <stdbool.h>

#include "abi.h"
#include "base/cleanup.h"

struct merger;
struct profile;

#define MERGE_POINTS_MAX (16u << 20)

int merger_new(struct merger **ret_merger);
void merger_free(struct merger *merger);
DEFINE_CLEANUP(struct merger *, merger_free)

/* -ENOMEM or -E2BIG if no more fits. */
int merger_add(struct merger *merger, const struct profile *profile);

/* The profile of all that was added, the caller's to free. The merger is then good only to be freed. */
int merger_finish(struct merger *merger, struct profile **ret_profile);

bool merger_times_dropped(const struct merger *merger);

#endif
