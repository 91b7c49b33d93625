// SPDX-License-Identifier: Apache-2.0
#include "net/work.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread.h"

#define WORK_NICE 5
#define THREADS_MAX 4

struct work {
	pthread_mutex_t lock;
	pthread_cond_t added;
	struct work_item *first, **last;
	bool stopping;
	u32 thread_count;
	struct thread threads[THREADS_MAX];
};

u32 work_thread_count(void)
{
	cpu_set_t cpus;
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : THREADS_MAX;

	return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (u32)count;
}

/* The next piece, or NULL when all is done and no more comes. */
static struct work_item *next_item(struct work *work)
{
	struct work_item *item;

	LOCKED(&work->lock);
	while (!work->first && !work->stopping)
		pthread_cond_wait(&work->added, &work->lock);
	item = work->first;
	if (item) {
		work->first = item->next;
		if (!work->first)
			work->last = &work->first;
	}
	return item;
}

static void *run_work(void *arg)
{
	struct work_item *item;

	/* What was taken in goes out before more is taken in, or queues fill when CPU is short; a wish, not more. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) + WORK_NICE);
	while ((item = next_item(arg)))
		item->run(item);
	return NULL;
}

void work_add(struct work *work, struct work_item *item)
{
	if (!work->thread_count) {
		item->run(item);
		return;
	}
	item->next = NULL;
	LOCKED(&work->lock);
	*work->last = item;
	work->last = &item->next;
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
	work->last = &work->first;
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
	free(work);
}
