/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to try again: intervals that grow and are spread at random, until too much time has passed since the first
 * attempt. retry_on_failure of the Collector.
 */
#ifndef PIPELINE_RETRY_H
#define PIPELINE_RETRY_H

#include <stdbool.h>

#include "base/types.h"
#include "pipeline/sender.h"

struct retry {
	u64 first_ns;		/* of the first attempt; 0: there was none */
	double interval_ns;	/* before the next one, before it is spread */
	u32 count;		/* attempts that failed */
};

/* An attempt begins. */
void retry_begin(struct retry *retry, const struct retry_options *options, u64 now_ns);

/*
 * It failed. True, and how long to wait: not less than asked_ns. False when there is no more time. random is in [0, 1).
 */
bool retry_again(struct retry *retry, const struct retry_options *options, u64 now_ns, s64 asked_ns, double random,
		 u64 *ret_delay_ns);

#endif
