/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long threads wanted a CPU, of a profile with lanes (analysis/queue_waits.h), by process or thread.
 *
 * Owns its texts: the profile may go. One thread.
 */
#ifndef ANALYSIS_QUEUE_PROFILE_H
#define ANALYSIS_QUEUE_PROFILE_H

#include "analysis/frame.h"
#include "analysis/queue_waits.h"
#include "analysis/summary.h"
#include "base/cleanup.h"

struct queue_profile {
	bool has_lanes;
	struct queue_waits waits;	/* one column */
	struct frame_set owners;	/* their numbers are those of groups */
	u32 *order;			/* of groups that waited at all, those that waited for longest first */
	u32 order_count;
};

/* by: SUMMARY_PROCESS or SUMMARY_THREAD. -ENOMEM, -E2BIG. */
int queue_profile_new(const struct profile *profile, enum summary_by by, struct queue_profile **ret_queue);
void queue_profile_free(struct queue_profile *queue);
DEFINE_CLEANUP(struct queue_profile *, queue_profile_free)

#endif
