/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that does something again and again, and can be ended at once:
 * it waits for the next time, or for the end, not for both.
 */
#ifndef PIPELINE_TICKER_H
#define PIPELINE_TICKER_H

#include "base/cleanup.h"
#include "base/types.h"

struct ticker;

struct ticker_options {
	const char *name;		/* of the thread, 15 letters at most */
	s64 delay_ns;			/* before the first time */
	s64 interval_ns;		/* from one time to the next; one that takes longer is followed at once */
	void (*tick)(void *arg);
	void *arg;
};

int ticker_start(const struct ticker_options *options, struct ticker **ret_ticker);

/* Returns when tick() is over and will not be called again. Accepts NULL. */
void ticker_stop(struct ticker *ticker);

#endif
