// SPDX-License-Identifier: Apache-2.0
#include "web/events.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"

#define LOOK_EACH_NS (SECOND_NS / 5)
#define HOLD_NS (25 * SECOND_NS)	/* proxies give up on what is silent for longer */
#define RETRY_MS 100			/* after which the browser asks again */

struct waiting {
	struct exchange *exchange;
	u64 known;
	u64 end_ns;
};

struct events {
	struct events_ops ops;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* somebody waits, or it is to end */
	struct waiting at[EVENTS_MAX];
	u32 count;
	bool stop;
};

static void answer(struct events *e, struct exchange *exchange, u64 generation)
{
	struct buf text;

	buf_init(&text, 256);
	buf_addf(&text, "retry: %d\n", RETRY_MS);
	if (generation)
		buf_addf(&text, "id: %llu\ndata: %llu\n", generation, generation);
	buf_addf(&text, "\n");
	e->ops.reply(e->ops.arg, exchange, &text);
}

/* Under the lock. A reply only queues what is to be sent. */
static void answer_due(struct events *e)
{
	u64 generation = e->ops.generation(e->ops.arg), now_ns = monotonic_ns();
	u32 kept = 0;

	for (u32 i = 0; i < e->count; i++) {
		struct waiting w = e->at[i];

		if (generation != w.known)
			answer(e, w.exchange, generation);
		else if (e->stop || now_ns >= w.end_ns)
			answer(e, w.exchange, 0);
		else
			e->at[kept++] = w;
	}
	e->count = kept;
}

static void *run(void *arg)
{
	struct events *e = arg;

	pthread_mutex_lock(&e->lock);
	while (!e->stop) {
		u64 until_ns = monotonic_ns() + LOOK_EACH_NS;
		struct timespec until = { (time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS) };

		if (e->count)
			(void)pthread_cond_timedwait(&e->changed, &e->lock, &until);
		else
			(void)pthread_cond_wait(&e->changed, &e->lock);
		answer_due(e);
	}
	answer_due(e);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

int events_new(const struct events_ops *ops, struct events **ret_events)
{
	struct events *e = calloc(1, sizeof(*e));
	pthread_condattr_t attributes;
	sigset_t all, before;
	int r;

	if (!e)
		return -ENOMEM;
	e->ops = *ops;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	/* Signals are main's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&e->thread, NULL, run, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		pthread_cond_destroy(&e->changed);
		pthread_mutex_destroy(&e->lock);
		free(e);
		return r;
	}
	pthread_setname_np(e->thread, "wick: events");
	*ret_events = e;
	return 0;
}

void events_stop(struct events *e)
{
	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	pthread_cond_signal(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

void events_free(struct events *e)
{
	if (!e)
		return;
	events_stop(e);
	pthread_join(e->thread, NULL);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

int events_wait(struct events *e, struct exchange *exchange, const char *known)
{
	struct waiting w = { exchange, strtoull(known, NULL, 10), monotonic_ns() + HOLD_NS };
	int r = -EAGAIN;

	pthread_mutex_lock(&e->lock);
	if (e->count < EVENTS_MAX && !e->stop) {
		e->at[e->count++] = w;
		pthread_cond_signal(&e->changed);
		r = 0;
	}
	pthread_mutex_unlock(&e->lock);
	return r;
}
