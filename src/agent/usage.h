/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of processes that come and go: the service, and this one with those that it starts. One thread. */
#ifndef AGENT_USAGE_H
#define AGENT_USAGE_H

#include <sys/types.h>

#include "base/types.h"

#define USAGE_PIDS 8

struct usage {
	pid_t pids[USAGE_PIDS];
	u64 seen_ns[USAGE_PIDS];
	u64 total_ns;
};

/* What they have used since each was first given; pids: 0 where there is none, USAGE_PIDS at most. */
u64 usage_step(struct usage *usage, const pid_t *pids, u32 count);

/*
 * What this process has used, with all that it started: those that have ended, however short their life was, and
 * `children` that run, 0 where there is none. It never goes down: *most is what it was before.
 */
u64 usage_family(const pid_t *children, u32 count, u64 *most);

#endif
