/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool for calls that somebody else can block for as long as he likes, and
 * that no signal but the end of the process interrupts: a page of another
 * process that it fills in itself (userfaultfd), a file on a mount that it
 * serves (FUSE), a file server that is gone.
 *
 * Calls are run one at a time by a worker thread, while the caller waits up to
 * a limit. A worker whose call is late is abandoned, with all that the call
 * may touch, and the next call gets a new worker. A target that was late is in
 * quarantine: it gets no calls while one is stuck there, nor for a minute
 * after. Nor do other targets of an owner (a user) while too many calls are
 * stuck at his, nor any while too many are stuck in all. All of it is counted.
 *
 * One thread owns it. A hand-over costs some microseconds.
 */
#ifndef BASE_OFFLOAD_H
#define BASE_OFFLOAD_H

#include <stdint.h>

#include "base/cleanup.h"

struct offload;

#define OFFLOAD_STUCK_MAX 64	/* each has a thread, of which little more than the kernel's part is in memory */
#define OFFLOAD_STUCK_PER_OWNER_MAX 16	/* ... at targets of one owner */
#define OFFLOAD_LIMIT_NS 1000000000ull

/* The head of what a call works on: it must touch nothing else that may end before it. From malloc(). */
struct offload_call {
	/* Whom it asks: a process, or a device, by a number that is not 0, nor another's. */
	uint64_t target;
	/* 0 or more, or -errno. */
	int (*run)(struct offload_call *call);
	/* When it ends late, before it is freed: releases what it has acquired. NULL: nothing is. */
	void (*drop)(struct offload_call *call);
	/* A process of the target's owner. */
	uint32_t pid;
};

struct offload_stats {
	uint64_t begun;
	uint64_t late;		/* abandoned */
	uint64_t refused;	/* not begun: one was late there, or too many are still stuck */
};

/*
 * limit_ns: how long a call may take. Soon after one was late it is a sixteenth: many of them are an attack.
 * owner: the number of the owner of a process, asked for once one is late; it must not block. NULL: all have the same.
 */
int offload_new(uint64_t limit_ns, uint64_t (*owner)(uint32_t pid), struct offload **ret_offload);
void offload_free(struct offload *offload);
DEFINE_CLEANUP(struct offload *, offload_free)

/*
 * Runs a call: what run() returned, but -EIO for -ETIMEDOUT; or -ETIMEDOUT if it is late, and -EBUSY if it was not
 * begun. At -ETIMEDOUT the call is not the caller's any more. Without a pool (NULL) it is run by the caller's
 * thread, as long as it takes.
 */
int offload_run(struct offload *offload, struct offload_call *call);

struct offload_stats offload_stats(const struct offload *offload);

#endif
