/* SPDX-License-Identifier: Apache-2.0 */
/* What lies within a span of time, of all processes or one. */
#ifndef PROFILE_CLIP_H
#define PROFILE_CLIP_H

#include "profile/profile.h"

struct merger;

struct clip {
	u64 start_unix_ns, end_unix_ns;		/* the end is not in it */
	s64 pid;				/* 0: all */
};

/*
 * Adds to a merger what the clip lets through: of samples with times those within it, of others all if their set begins
 * within it. Sets then span the clip; empty ones are left out. -ENOMEM, -E2BIG.
 */
int clip_merge(const struct profile *profile, const struct clip *clip, struct merger *into);

#endif
