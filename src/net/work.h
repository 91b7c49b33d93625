/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for what takes longer than the loop may. Work comes in lanes, so that what is asked does not wait for what is
 * sent, nor the other way round: no lane ever has all threads. Within a lane callers take turns, and within a caller
 * his connections: whoever brings much waits for himself.
 *
 * Any thread may add; the memory of a piece of work is the caller's. Without threads (count 0) work_add()
 * runs it at once.
 */
#ifndef NET_WORK_H
#define NET_WORK_H

#include "base/cleanup.h"
#include "base/types.h"

struct work;

enum work_lane { WORK_SENT, WORK_ASKED, WORK_LANES };

struct work_item {
	struct work_item *next;
	void (*run)(struct work_item *item);
	enum work_lane lane;
	u64 caller, connection;		/* whose turn it is */
};

int work_new(u32 thread_count, struct work **ret_work);
/* After all that was added has run. */
void work_free(struct work *work);
DEFINE_CLEANUP(struct work *, work_free)

void work_add(struct work *work, struct work_item *item);

/* 2 to 4, by the CPUs that this process may run on: one is never enough for two lanes */
u32 work_thread_count(void);

#endif
