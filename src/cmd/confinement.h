/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each process of a collector may do: the sampler sees the machine and no network, the service the network and
 * nothing of other processes, the supervisor starts both. Each function holds for good, and is called before there
 * are threads.
 */
#ifndef CMD_CONFINEMENT_H
#define CMD_CONFINEMENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/types.h"

struct buf;

struct confinement {
	uid_t uid;		/* of the service; this process's own: it stays */
	gid_t gid;
	bool binds_low;		/* it listens on ports below 1024 */
	bool has_user_probes;	/* the sampler sets some, for which the kernel wants CAP_SYS_ADMIN */
	bool is_off;		/* --privileges=keep: for who looks for a fault */
	bool owns_nothing;	/* its user has no files but wick's */
	int rules_fd;		/* of files (base/landlock.h); -1: none */
};

/* On failure `why` gets a sentence. */
int confine_supervisor(const struct confinement *c, struct buf *why);
int confine_sampler(const struct confinement *c, struct buf *why);
int confine_service(const struct confinement *c, struct buf *why);

#endif
