// SPDX-License-Identifier: Apache-2.0
#include "pipeline/retry.h"

#include <stdint.h>

#include "test.h"

#define SECOND 1000000000ull
static const struct sender_options defaults = SENDER_DEFAULTS(0);

TEST(retry_waits_longer_each_time_up_to_a_limit)
{
	static const double want[] = { 5, 7.5, 11.25, 16.875, 25.3125, 30, 30 };
	struct retry retry = { 0 };
	u64 now = SECOND, delay;

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		retry_begin(&retry, &defaults.retry, now);
		OK(retry_again(&retry, &defaults.retry, now, 0, 0.5, &delay));
		EQ(delay, want[i] * SECOND);
		now += delay;
	}
	EQ(retry.count, 7);
}

TEST(retry_spreads_by_half_to_both_sides)
{
	struct retry retry = { 0 };
	u64 delay;

	retry_begin(&retry, &defaults.retry, 1);
	OK(retry_again(&retry, &defaults.retry, 1, 0, 0, &delay));
	EQ(delay, 2500000000);
	retry = (struct retry){ 0 };
	retry_begin(&retry, &defaults.retry, 1);
	OK(retry_again(&retry, &defaults.retry, 1, 0, 0.999999999, &delay));
	OK(delay > 7400000000 && delay < 7500000000);
}

TEST(retry_waits_as_long_as_it_was_asked_to)
{
	struct retry retry = { 0 };
	u64 delay;

	retry_begin(&retry, &defaults.retry, 1);
	OK(retry_again(&retry, &defaults.retry, 1, 60 * SECOND, 0.5, &delay));
	EQ(delay, 60 * SECOND);
	OK(retry_again(&retry, &defaults.retry, 1, 1, 0.5, &delay));
	EQ(delay, 7500000000);
}

TEST(retry_ends_when_the_next_attempt_would_be_too_late)
{
	struct retry_options options = defaults.retry;
	struct retry retry = { 0 };
	u64 delay;

	retry_begin(&retry, &options, SECOND);
	OK(retry_again(&retry, &options, 296 * SECOND, 0, 0.5, &delay));
	OK(!retry_again(&retry, &options, 297 * SECOND, 0, 0.5, &delay));
	OK(!retry_again(&retry, &options, SECOND, INT64_MAX, 0.5, &delay));
	options.max_elapsed_time_ns = 0;
	OK(retry_again(&retry, &options, 1000000 * SECOND, 0, 0.5, &delay));
	OK(retry_again(&retry, &options, 1000000 * SECOND, INT64_MAX, 0.5, &delay));
	OK(delay > 1000000000 * SECOND);
	options.enabled = false;
	OK(!retry_again(&retry, &options, SECOND, 0, 0.5, &delay));
}
