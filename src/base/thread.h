/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: named, and with all signals blocked: those are main's, a thread that took one would not know what to do.
 * One that did not start, or was joined, may be joined: nothing happens.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define THREAD_NAME_MAX 15

struct thread {
	pthread_t id;
	bool is_started;	/* and not joined */
};

int thread_start(struct thread *thread, const char *name, void *(*run)(void *arg), void *arg);
void thread_join(struct thread *thread);

/* One that nobody will wait for. */
int thread_start_detached(const char *name, size_t stack_bytes, void *(*run)(void *arg), void *arg);

#endif
