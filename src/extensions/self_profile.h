/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick's profile of itself: a sampler (halves/), limited to its own processes, for a while.
 * It needs the privileges that the profiling receiver needs.
 */
#ifndef EXTENSIONS_SELF_PROFILE_H
#define EXTENSIONS_SELF_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/agent.h"
#include "base/types.h"

struct buf;
struct control;
struct profile;

#define SELF_PROFILE_HZ 100

/* What the supervisor is asked for, and how that samples but for the processes. */
#define SELF_PROFILE_ID "self"
struct agent_options self_profile_options(void);

/*
 * Samples until duration_ns is over or *stop is set, and returns the profile,
 * the caller's to free. -errno with a sentence in `why`. It takes that long: not for threads that others wait for.
 */
int self_profile(struct control *control, u64 duration_ns, const atomic_bool *stop, struct profile **ret_profile,
		 struct buf *why);

#endif
