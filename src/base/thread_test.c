// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "base/lock.h"
#include "test.h"

struct seen {
	pthread_mutex_t lock;
	sem_t named, done;
	char name[THREAD_NAME_MAX + 1];
	sigset_t blocked;
	int count;
};

static int add(struct seen *seen, bool returns_early)
{
	LOCKED(&seen->lock);
	seen->count++;
	if (returns_early)
		return seen->count;
	seen->count++;
	return seen->count;
}

static void *look(void *arg)
{
	struct seen *seen = arg;

	/* The name is given by who starts it, a moment after the thread began. */
	while (sem_wait(&seen->named))
		;
	pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
	pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
	add(seen, true);
	sem_post(&seen->done);
	return NULL;
}

static void seen_init(struct seen *seen)
{
	*seen = (struct seen){ .lock = PTHREAD_MUTEX_INITIALIZER };
	sem_init(&seen->named, 0, 0);
	sem_init(&seen->done, 0, 0);
}

TEST(thread_has_its_name_and_no_signals)
{
	struct thread thread = { 0 };
	struct seen seen;
	sigset_t mine;

	seen_init(&seen);
	EQ(thread_start(&thread, "wick: fifteen..", look, &seen), 0);
	OK(thread.is_started);
	sem_post(&seen.named);
	thread_join(&thread);
	OK(!thread.is_started);
	thread_join(&thread);
	STREQ(seen.name, "wick: fifteen..");
	EQ(sigismember(&seen.blocked, SIGTERM), 1);
	EQ(sigismember(&seen.blocked, SIGCHLD), 1);
	/* Ours are as they were. */
	pthread_sigmask(SIG_BLOCK, NULL, &mine);
	EQ(sigismember(&mine, SIGTERM), 0);
}

TEST(thread_that_nobody_waits_for_runs)
{
	struct seen seen;

	seen_init(&seen);
	EQ(thread_start_detached("wick: alone", 128 * 1024, look, &seen), 0);
	sem_post(&seen.named);
	while (sem_wait(&seen.done))
		;
	STREQ(seen.name, "wick: alone");
}

TEST(locked_ends_with_its_block)
{
	struct seen seen;

	seen_init(&seen);
	EQ(add(&seen, true), 1);
	EQ(pthread_mutex_trylock(&seen.lock), 0);
	pthread_mutex_unlock(&seen.lock);
	EQ(add(&seen, false), 3);
	{
		LOCKED(&seen.lock);
		EQ(pthread_mutex_trylock(&seen.lock), EBUSY);
	}
	EQ(pthread_mutex_trylock(&seen.lock), 0);
}
