// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ticker.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/thread.h"

struct ticker {
	struct ticker_options options;
	struct thread thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
};

/* Waits until then; true if it is time to end. */
static bool ticker_wait(struct ticker *t, u64 until_ns)
{
	int r = 0;

	LOCKED(&t->lock);
	while (!t->stop && r == 0)
		r = cond_wait_until(&t->changed, &t->lock, until_ns);
	return t->stop;
}

static void *ticker_run(void *arg)
{
	struct ticker *t = arg;
	u64 next_ns = monotonic_ns() + (u64)t->options.delay_ns;

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
	int r;

	if (!t)
		return -ENOMEM;
	t->options = *options;
	pthread_mutex_init(&t->lock, NULL);
	cond_init(&t->changed);
	r = thread_start(&t->thread, t->options.name, ticker_run, t);
	if (r < 0) {
		ticker_free(t);
		return r;
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
	thread_join(&t->thread);
	ticker_free(t);
}
