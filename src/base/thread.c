// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

static int start(pthread_t *id, const pthread_attr_t *attributes, const char *name, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	assert(strlen(name) <= THREAD_NAME_MAX);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(id, attributes, run, arg);
	if (r == 0)
		pthread_setname_np(*id, name);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int thread_start(struct thread *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	int r;

	assert(!thread->is_started);
	r = start(&thread->id, NULL, name, run, arg);
	thread->is_started = r == 0;
	return r;
}

void thread_join(struct thread *thread)
{
	if (!thread->is_started)
		return;
	assert(!pthread_equal(thread->id, pthread_self()));
	pthread_join(thread->id, NULL);
	thread->is_started = false;
}

int thread_start_detached(const char *name, size_t stack_bytes, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attributes;
	pthread_t id;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	r = start(&id, &attributes, name, run, arg);
	pthread_attr_destroy(&attributes);
	return r;
}
