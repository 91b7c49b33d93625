/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what the kernel half needs to know of a cgroup: which hierarchy it is in, and its number there. */
#ifndef TRACER_CGROUP_H
#define TRACER_CGROUP_H

#include "base/types.h"

struct buf;

struct cgroup_filter {
	u64 id;		/* inode number of the directory */
	s32 subsystem;	/* index into css_set.subsys of this kernel; -1: version 2 */
};

/* A path below a mounted cgroup file system. On failure `why` gets a sentence. */
int cgroup_find(const char *path, struct cgroup_filter *ret_filter, struct buf *why);

#endif
