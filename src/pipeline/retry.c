// SPDX-License-Identifier: Apache-2.0
#include "pipeline/retry.h"

/* What fits into nanoseconds with room for sums: 146 years. */
#define DELAY_MAX 4.6e18

void retry_begin(struct retry *retry, const struct retry_options *options, u64 now_ns)
{
	if (retry->first_ns)
		return;
	retry->first_ns = now_ns;
	retry->interval_ns = (double)options->initial_interval_ns;
}

/* From interval * (1 - factor) to interval * (1 + factor). */
static double spread(double interval, double factor, double random)
{
	return interval * (1 - factor + 2 * factor * random);
}

bool retry_again(struct retry *retry, const struct retry_options *options, u64 now_ns, s64 asked_ns, double random,
		 u64 *ret_delay_ns)
{
	double delay = spread(retry->interval_ns, options->randomization_factor, random);
	double next = retry->interval_ns * options->multiplier, max = (double)options->max_interval_ns;

	if (!options->enabled)
		return false;
	if (delay < (double)asked_ns)
		delay = (double)asked_ns;
	if (delay > DELAY_MAX)
		delay = DELAY_MAX;
	if (options->max_elapsed_time_ns > 0 &&
	    (double)(now_ns - retry->first_ns) + delay > (double)options->max_elapsed_time_ns)
		return false;
	retry->interval_ns = next > max ? max : next;
	retry->count++;
	*ret_delay_ns = (u64)delay;
	return true;
}
