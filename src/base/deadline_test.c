// SPDX-License-Identifier: Apache-2.0
#include "base/deadline.h"

#include <errno.h>

#include "test.h"

TEST(deadline_after_too_long_never_comes)
{
	EQ(deadline_after(UINT64_MAX), DEADLINE_NEVER);
	EQ(deadline_after(UINT64_MAX - 1), DEADLINE_NEVER);
	OK(deadline_after(SECOND_NS) < DEADLINE_NEVER);
	OK(deadline_after(SECOND_NS) > monotonic_ns());
}

TEST(deadline_is_told_in_seconds_and_nanoseconds)
{
	struct timespec at = deadline_timespec(3 * SECOND_NS + 7);

	EQ(at.tv_sec, 3);
	EQ(at.tv_nsec, 7);
}

TEST(cond_wait_ends_at_its_deadline)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint64_t until = deadline_after(2000000);
	pthread_cond_t cond;
	int r = 0;

	cond_init(&cond);
	pthread_mutex_lock(&lock);
	EQ(cond_wait_until(&cond, &lock, 0), -ETIMEDOUT);
	while (r == 0)
		r = cond_wait_until(&cond, &lock, until);
	EQ(r, -ETIMEDOUT);
	OK(monotonic_ns() >= until);
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&cond);
}
