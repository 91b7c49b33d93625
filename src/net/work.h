/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for what takes longer than the loop may: first come, first served.
 *
 * Any thread may add; the memory of a piece of work is the caller's. Without threads (count 0) work_add()
 * runs it at once.
 */
#ifndef NET_WORK_H
#define NET_WORK_H

#include "base/cleanup.h"
#include "base/types.h"

struct work;

struct work_item {
	struct work_item *next;
	void (*run)(struct work_item *item);
};

int work_new(u32 thread_count, struct work **ret_work);
/* After all that was added has run. */
void work_free(struct work *work);
DEFINE_CLEANUP(struct work *, work_free)

void work_add(struct work *work, struct work_item *item);

/* min(4, CPUs that this process may run on) */
u32 work_thread_count(void);

#endif
