// SPDX-License-Identifier: Apache-2.0
#include "base/deadline.h"

#include <assert.h>
#include <errno.h>

#define MILLISECOND_NS 1000000ull

uint64_t deadline_after(uint64_t wait_ns)
{
	uint64_t now_ns = monotonic_ns();

	return wait_ns < DEADLINE_NEVER - now_ns ? now_ns + wait_ns : DEADLINE_NEVER;
}

struct timespec deadline_timespec(uint64_t deadline_ns)
{
	return (struct timespec){ (time_t)(deadline_ns / SECOND_NS), (long)(deadline_ns % SECOND_NS) };
}

void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

int cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	struct timespec until = deadline_timespec(deadline_ns);
	int r;

	if (deadline_ns == DEADLINE_NEVER)
		r = pthread_cond_wait(cond, lock);
	else
		r = pthread_cond_timedwait(cond, lock, &until);
	/* Anything else is a mutex that is not held, or a condition that was never made. */
	assert(r == 0 || r == ETIMEDOUT);
	return -r;
}
