/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches in, batches of another size out: joined, and cut where they are too
 * large. Samples stay as they are; see profile/append.h. Any thread.
 */
#ifndef PIPELINE_REGROUP_H
#define PIPELINE_REGROUP_H

#include "base/types.h"

struct batch;

/*
 * Calls emit() with batches of at most samples_max samples (0: any) that together hold what the given ones do; it
 * takes over the reference. One that fits alone is passed on as it is. An error of emit() does
 * not keep the rest from being emitted: it is returned in the end. -ENOMEM, -E2BIG, -EBADMSG: *ret_lost tells how many
 * samples were not emitted. What this machine sampled is not joined with what others sent.
 */
int batches_regroup(struct batch *const *batches, u32 count, u64 samples_max,
		    int (*emit)(void *arg, struct batch *batch), void *arg, u64 *ret_lost);

#endif
