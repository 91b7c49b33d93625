// SPDX-License-Identifier: Apache-2.0
#include "net/work.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread.h"

#define WORK_NICE 5
#define THREADS_MAX 4

#define TURNS 64		/* callers, or connections of one, that take turns: those that meet share one */

struct fifo {
	struct work_item *first, **last;
};

/* Connections of a caller. */
struct turns {
	struct fifo at[TURNS];
	u32 count, next;
};

/* Callers. */
struct lane {
	struct turns *at[TURNS];	/* NULL: nobody was there yet */
	u32 count, next, running;
};

struct work {
	pthread_mutex_t lock;
	pthread_cond_t added;
	struct lane lanes[WORK_LANES];
	u32 next_lane;
	u64 seed;			/* so that nobody chooses whom he shares a turn with */
	bool stopping;
	u32 thread_count;
	struct thread threads[THREADS_MAX];
};

u32 work_thread_count(void)
{
	cpu_set_t cpus;
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : THREADS_MAX;

	return count < 2 ? 2 : count > THREADS_MAX ? THREADS_MAX : (u32)count;
}

/* ---- Turns ------------------------------------------------------------------------------- */

static u32 turn_of(const struct work *work, u64 key)
{
	return (u32)(((key ^ work->seed) * 0x9e3779b97f4a7c15) >> 58);
}

static struct work_item *take_of_caller(struct turns *turns)
{
	struct fifo *fifo;
	struct work_item *item;

	do
		fifo = &turns->at[turns->next++ % TURNS];
	while (!fifo->first);
	item = fifo->first;
	fifo->first = item->next;
	turns->count--;
	return item;
}

static struct work_item *take_of_lane(struct lane *lane)
{
	struct turns *turns;

	do
		turns = lane->at[lane->next++ % TURNS];
	while (!turns || !turns->count);
	lane->count--;
	lane->running++;
	return take_of_caller(turns);
}

/* A lane leaves a thread to the others, if there are two. */
static bool may_run(const struct work *work, const struct lane *lane)
{
	return lane->count && (lane->running + 1 < work->thread_count || work->thread_count < 2 || work->stopping);
}

static struct lane *next_lane(struct work *work)
{
	for (u32 i = 0; i < WORK_LANES; i++) {
		struct lane *lane = &work->lanes[work->next_lane++ % WORK_LANES];

		if (may_run(work, lane))
			return lane;
	}
	return NULL;
}

static bool is_empty(const struct work *work)
{
	for (u32 i = 0; i < WORK_LANES; i++)
		if (work->lanes[i].count)
			return false;
	return true;
}

/* The next piece, or NULL when all is done and no more comes. */
static struct work_item *next_item(struct work *work)
{
	struct lane *lane;

	LOCKED(&work->lock);
	while (!(lane = next_lane(work)) && !(work->stopping && is_empty(work)))
		pthread_cond_wait(&work->added, &work->lock);
	return lane ? take_of_lane(lane) : NULL;
}

static void end_item(struct work *work, enum work_lane lane)
{
	LOCKED(&work->lock);
	work->lanes[lane].running--;
	if (work->lanes[lane].count)
		pthread_cond_signal(&work->added);
}

/* Without memory for a caller of his own he shares the first that there is. */
static struct turns *turns_of(struct work *work, struct lane *lane, u64 caller)
{
	struct turns **turns = &lane->at[turn_of(work, caller)];

	if (!*turns)
		*turns = calloc(1, sizeof(**turns));
	return *turns ? *turns : lane->at[0];
}

static void put(struct work *work, struct work_item *item)
{
	struct lane *lane = &work->lanes[item->lane];
	struct turns *turns = turns_of(work, lane, item->caller);
	struct fifo *fifo = &turns->at[turn_of(work, item->connection)];

	item->next = NULL;
	if (!fifo->first)
		fifo->last = &fifo->first;
	*fifo->last = item;
	fifo->last = &item->next;
	turns->count++;
	lane->count++;
}

/* ---- Threads ----------------------------------------------------------------------------- */

static void *run_work(void *arg)
{
	struct work *work = arg;
	struct work_item *item;

	/* What was taken in goes out before more is taken in, or queues fill when CPU is short; a wish, not more. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) + WORK_NICE);
	while ((item = next_item(work))) {
		enum work_lane lane = item->lane;	/* it may be gone afterwards */

		item->run(item);
		end_item(work, lane);
	}
	return NULL;
}

void work_add(struct work *work, struct work_item *item)
{
	if (!work->thread_count) {
		item->run(item);
		return;
	}
	LOCKED(&work->lock);
	put(work, item);
	pthread_cond_signal(&work->added);
}

static int start_threads(struct work *work, u32 count)
{
	int r = 0;

	while (r == 0 && work->thread_count < count && work->thread_count < THREADS_MAX) {
		r = thread_start(&work->threads[work->thread_count], "wick: work", run_work, work);
		work->thread_count += r == 0;
	}
	return r;
}

int work_new(u32 thread_count, struct work **ret_work)
{
	_cleanup_(work_freep) struct work *work = calloc(1, sizeof(*work));
	int r;

	if (!work)
		return -ENOMEM;
	pthread_mutex_init(&work->lock, NULL);
	pthread_cond_init(&work->added, NULL);
	if (getrandom(&work->seed, sizeof(work->seed), GRND_NONBLOCK) != sizeof(work->seed))
		work->seed = (u64)(uintptr_t)work;
	for (u32 i = 0; i < WORK_LANES; i++) {
		work->lanes[i].at[0] = calloc(1, sizeof(*work->lanes[i].at[0]));
		if (!work->lanes[i].at[0])
			return -ENOMEM;
	}
	r = start_threads(work, thread_count);
	if (r < 0)
		return r;
	*ret_work = TAKE(work);
	return 0;
}

void work_free(struct work *work)
{
	if (!work)
		return;
	pthread_mutex_lock(&work->lock);
	work->stopping = true;
	pthread_cond_broadcast(&work->added);
	pthread_mutex_unlock(&work->lock);
	for (u32 i = 0; i < work->thread_count; i++)
		thread_join(&work->threads[i]);
	pthread_mutex_destroy(&work->lock);
	pthread_cond_destroy(&work->added);
	for (u32 i = 0; i < WORK_LANES; i++)
		for (u32 k = 0; k < TURNS; k++)
			free(work->lanes[i].at[k]);
	free(work);
}
