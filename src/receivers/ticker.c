// SPDX-License-Identifier: Apache-2.0
#include "receivers/ticker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"

struct ticker {
	struct ticker_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
};

/* Waits until then; true if it is time to end. */
static bool ticker_wait(struct ticker *t, u64 until_ns)
{
	struct timespec until = { (time_t)(until_ns / 1000000000ull), (long)(until_ns % 1000000000ull) };
	bool stop;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	while (!t->stop && r == 0)
		r = pthread_cond_timedwait(&t->changed, &t->lock, &until);
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return stop;
}

static void *ticker_run(void *arg)
{
	struct ticker *t = arg;
	u64 next_ns = monotonic_ns() + (u64)t->options.delay_ns;

	(void)prctl(PR_SET_NAME, t->options.name);
	while (!ticker_wait(t, next_ns)) {
		u64 now;

		t->options.tick(t->options.arg);
		now = monotonic_ns();
		next_ns += (u64)t->options.interval_ns;
		if (next_ns < now)
			next_ns = now;
	}
	return NULL;
}

static void ticker_free(struct ticker *t)
{
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int ticker_start(const struct ticker_options *options, struct ticker **ret_ticker)
{
	struct ticker *t = calloc(1, sizeof(*t));
	pthread_condattr_t attributes;
	sigset_t all, before;
	int r;

	if (!t)
		return -ENOMEM;
	t->options = *options;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	/* Signals are for the thread that owns us. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&t->thread, NULL, ticker_run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		ticker_free(t);
		return -r;
	}
	*ret_ticker = t;
	return 0;
}

void ticker_stop(struct ticker *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	ticker_free(t);
}
