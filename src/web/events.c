// SPDX-License-Identifier: Apache-2.0
#include "web/events.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/thread.h"

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
	struct thread thread;
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

	LOCKED(&e->lock);
	while (!e->stop) {
		(void)cond_wait_until(&e->changed, &e->lock, e->count ? deadline_after(LOOK_EACH_NS) : DEADLINE_NEVER);
		answer_due(e);
	}
	answer_due(e);
	return NULL;
}

int events_new(const struct events_ops *ops, struct events **ret_events)
{
	struct events *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->ops = *ops;
	pthread_mutex_init(&e->lock, NULL);
	cond_init(&e->changed);
	r = thread_start(&e->thread, "wick: events", run, e);
	if (r < 0) {
		pthread_cond_destroy(&e->changed);
		pthread_mutex_destroy(&e->lock);
		free(e);
		return r;
	}
	*ret_events = e;
	return 0;
}

void events_stop(struct events *e)
{
	if (!e)
		return;
	LOCKED(&e->lock);
	e->stop = true;
	pthread_cond_signal(&e->changed);
}

void events_free(struct events *e)
{
	if (!e)
		return;
	events_stop(e);
	thread_join(&e->thread);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

int events_wait(struct events *e, struct exchange *exchange, const char *known)
{
	struct waiting w = { exchange, strtoull(known, NULL, 10), monotonic_ns() + HOLD_NS };
	int r = -EAGAIN;

	LOCKED(&e->lock);
	if (e->count < EVENTS_MAX && !e->stop) {
		e->at[e->count++] = w;
		pthread_cond_signal(&e->changed);
		r = 0;
	}
	return r;
}
