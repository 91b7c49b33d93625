/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting until a moment. A deadline is a time of CLOCK_MONOTONIC in nanoseconds; DEADLINE_NEVER does not come.
 * Conditions that are waited at with one are made by cond_init(): others go by the time of day.
 */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <pthread.h>
#include <time.h>

#include "base/clock.h"

#define DEADLINE_NEVER UINT64_MAX

uint64_t deadline_after(uint64_t wait_ns);
struct timespec deadline_timespec(uint64_t deadline_ns);

void cond_init(pthread_cond_t *cond);

/* 0, or -ETIMEDOUT when the deadline is past. As ever, what was waited for may not have come: look, and wait again. */
int cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);

#endif
