/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errands: calls that somebody else can hold up for as long as he likes, and
 * that no signal but the end of the process ends. A page of another process
 * that it fills in itself (userfaultfd), a file on a mount that it serves
 * (FUSE), a file server that is gone.
 *
 * They are run one at a time by a thread of their own, while the caller waits,
 * but not for ever. The thread of an errand that is late is left behind, with
 * all that the errand may touch, and the next errand gets a new thread. Where
 * one was late nobody goes while it is still out, nor for a minute. Nor does
 * anybody go to other places of an owner (a user) while too many are out at
 * his, nor anywhere while too many are out in all. All of it is counted.
 *
 * One thread owns it. A hand-over costs some microseconds.
 */
#ifndef BASE_ERRANDS_H
#define BASE_ERRANDS_H

#include <stdint.h>

#include "base/cleanup.h"

struct errands;

#define ERRANDS_OUT_MAX 64	/* each has a thread, of which little more than the kernel's part is in memory */
#define ERRANDS_OF_OWNER_MAX 16	/* ... at places of one owner */
#define ERRANDS_LIMIT_NS 1000000000ull

/* The head of what an errand works on: it must touch nothing else that may end before it. From malloc(). */
struct errand {
	/* Whom it asks: a process, or a device, by a number that is not 0, nor another's. */
	uint64_t place;
	/* 0 or more, or -errno. */
	int (*run)(struct errand *errand);
	/* When it comes back late, before it is freed: what it brought is put away. NULL: nothing is. */
	void (*drop)(struct errand *errand);
	/* A process of the place's owner. */
	uint32_t pid;
};

struct errands_stats {
	uint64_t begun;
	uint64_t late;		/* left behind */
	uint64_t refused;	/* not begun: one was late there, or too many are still out */
};

/*
 * limit_ns: how long an errand may take. Soon after one was late it is a sixteenth: many of them are an attack.
 * owner: the number of the owner of a process, asked for once one is late; it must not block. NULL: all have the same.
 */
int errands_new(uint64_t limit_ns, uint64_t (*owner)(uint32_t pid), struct errands **ret_errands);
void errands_free(struct errands *errands);
DEFINE_CLEANUP(struct errands *, errands_free)

/*
 * Runs an errand: what run() returned, but -EIO for -ETIMEDOUT; or -ETIMEDOUT if it is late, and -EBUSY if it was not
 * begun. At -ETIMEDOUT the errand is not the caller's any more. Without errands (NULL) it is run by the caller's
 * thread, as long as it takes.
 */
int errands_run(struct errands *errands, struct errand *errand);

struct errands_stats errands_stats(const struct errands *errands);

#endif
