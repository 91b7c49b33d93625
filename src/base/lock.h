/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mutex held by scope: after LOCKED(&x->lock); it is held until the block ends, however that is left.
 * A lock that must end before its block does is taken and released by hand.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>

#include "base/cleanup.h"

#define LOCK_JOIN(a, b) a##b
#define LOCK_NAME(line) LOCK_JOIN(locked_, line)
#define LOCKED(mutex) \
	_cleanup_(lock_releasep) pthread_mutex_t *LOCK_NAME(__LINE__) __attribute__((unused)) = lock_take(mutex)

static inline pthread_mutex_t *lock_take(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void lock_releasep(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

#endif
