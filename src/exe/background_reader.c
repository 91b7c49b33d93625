// SPDX-License-Identifier: Apache-2.0
#include "exe/background_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/thread.h"
#include "exe/reader_protocol.h"
#include "exe/reader_rest.h"

#define NICE (-10)			/* samples wait for what is read here */
#define ANOTHER_THREAD_NS 10000000ull	/* after a job has waited so long */
#define IDLE_SECONDS 2			/* all threads but the first end after so long */

struct queue {
	struct read_job *first, **end;
};

struct worker {
	struct background_reader *owner;
	struct reader *reader;
	struct thread thread;
	bool has_ended;
};

struct background_reader {
	pthread_mutex_t lock;
	pthread_cond_t posted, finished;
	struct queue waiting, done;		/* with the lock */
	struct worker workers[BACKGROUND_READERS_MAX];
	u64 last_owner;				/* whose job was begun last */
	u32 busy_count;
	u32 rest_times;
	bool stop;
	struct reader_stats stats;		/* of readers that are no more, less what does not count of all */
	u32 pending_count;			/* the owner's: jobs not done() yet */
	u64 done_count;				/* ... that are */
	int done_fd;
};

static void queue_add(struct queue *q, struct read_job *job)
{
	job->next = NULL;
	*q->end = job;
	q->end = &job->next;
}

static struct read_job *queue_remove(struct queue *q, struct read_job **link)
{
	struct read_job *job = *link;

	*link = job->next;
	if (q->end == &job->next)
		q->end = link;
	return job;
}

static bool is_last_free(const struct background_reader *b)
{
	return b->busy_count + 1 >= BACKGROUND_READERS_MAX;
}

/* The next job: of another owner than the last one, if there is one. What is slow is not for the last thread. */
static struct read_job *take_job(struct background_reader *b)
{
	struct read_job **found = NULL;

	if (b->rest_times == BACKGROUND_NO_JOBS)
		return NULL;
	for (struct read_job **link = &b->waiting.first; *link; link = &(*link)->next) {
		if ((*link)->is_slow && is_last_free(b))
			continue;
		if (!found)
			found = link;
		if ((*link)->owner == b->last_owner)
			continue;
		found = link;
		break;
	}
	if (!found)
		return NULL;
	b->last_owner = (*found)->owner;
	return queue_remove(&b->waiting, found);
}

/* Waits for a job. NULL: the thread is to end. */
static struct read_job *await_job(struct background_reader *b, bool is_first)
{
	u64 deadline = is_first ? DEADLINE_NEVER : deadline_after(IDLE_SECONDS * SECOND_NS);
	struct read_job *job;
	int r = 0;

	for (;;) {
		job = b->stop ? NULL : take_job(b);
		if (job || b->stop || r == -ETIMEDOUT)
			return job;
		r = cond_wait_until(&b->posted, &b->lock, deadline);
	}
}

/* With the lock: readers that work at the same time share what there is. */
static void tell_rest(struct background_reader *b)
{
	u32 times = b->rest_times < READER_REST_MAX ? b->rest_times : READER_REST_MAX;

	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++)
		if (b->workers[i].reader)
			reader_set_rest(b->workers[i].reader, times * (b->busy_count ? b->busy_count : 1));
}

/* Starts the thread's process if it has none yet. Without the lock. */
static int worker_ready(struct worker *w)
{
	struct reader *reader;
	int r = w->reader ? 0 : reader_start(NICE, &reader);

	if (r < 0 || w->reader)
		return r;
	pthread_mutex_lock(&w->owner->lock);
	w->reader = reader;
	tell_rest(w->owner);
	if (w->owner->stop)
		reader_cancel(reader);
	pthread_mutex_unlock(&w->owner->lock);
	return 0;
}

/* Runs a job without the lock. True if it was ended for others' sake: what the reader counted is to be undone. */
static bool worker_run(struct worker *w, struct read_job *job, bool is_quick, struct reader_stats *ret_before)
{
	int r = worker_ready(w);

	if (r < 0) {
		job->result = r;
		return false;
	}
	reader_set_timeout(w->reader, is_quick ? BACKGROUND_QUICK_MS : READER_SECONDS * 1000);
	*ret_before = reader_stats(w->reader);
	job->result = job->run(job, w->reader);
	/* It may be the process that was slow to start. */
	return is_quick && (job->result == -ETIMEDOUT || reader_stats(w->reader).timeouts != ret_before->timeouts);
}

/* The job is done, or to be begun again where others do not wait for it. */
static void worker_finish(struct worker *w, struct read_job *job, const struct reader_stats *undo_to)
{
	struct background_reader *b = w->owner;
	u64 one = 1;

	if (undo_to) {
		struct reader_stats now = reader_stats(w->reader);

		b->stats.timeouts -= now.timeouts - undo_to->timeouts;
		b->stats.restarts -= now.restarts - undo_to->restarts;
		job->is_slow = true;
		queue_add(&b->waiting, job);
		return;
	}
	queue_add(&b->done, job);
	pthread_cond_signal(&b->finished);
	(void)!write(b->done_fd, &one, sizeof(one));
}

static void add_stats(struct reader_stats *to, struct reader_stats s)
{
	to->requests += s.requests;
	to->restarts += s.restarts;
	to->timeouts += s.timeouts;
	to->refused += s.refused;
	to->too_large += s.too_large;
	to->unfiltered += s.unfiltered;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct background_reader *b = w->owner;
	struct reader *reader;
	struct reader_stats before;
	struct read_job *job;
	bool is_for_others;

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_mutex_lock(&b->lock);
	while ((job = await_job(b, w == b->workers))) {
		bool is_quick = is_last_free(b);

		b->busy_count++;
		tell_rest(b);
		pthread_mutex_unlock(&b->lock);
		is_for_others = worker_run(w, job, is_quick, &before);
		pthread_mutex_lock(&b->lock);
		b->busy_count--;
		worker_finish(w, job, is_for_others ? &before : NULL);
		/* A slow job may be begun again where it could not before. */
		if (b->waiting.first)
			pthread_cond_signal(&b->posted);
	}
	w->has_ended = true;
	reader = TAKE(w->reader);
	if (reader)
		add_stats(&b->stats, reader_stats(reader));
	pthread_mutex_unlock(&b->lock);
	reader_free(reader);
	return NULL;
}

void background_reader_rest(struct background_reader *b, u32 times)
{
	LOCKED(&b->lock);
	b->rest_times = times;
	tell_rest(b);
	pthread_cond_broadcast(&b->posted);
}

static int start_worker(struct background_reader *b, struct worker *w)
{
	w->owner = b;
	return thread_start(&w->thread, "wick: files", work, w);
}

static void join_worker(struct worker *w)
{
	thread_join(&w->thread);
	reader_free(w->reader);
	*w = (struct worker){ 0 };
}

int background_reader_new(struct background_reader **ret_reader)
{
	_cleanup_(background_reader_freep) struct background_reader *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->waiting.end = &b->waiting.first;
	b->done.end = &b->done.first;
	pthread_mutex_init(&b->lock, NULL);
	cond_init(&b->posted);
	cond_init(&b->finished);
	b->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->done_fd < 0)
		return -errno;
	/* The first process is there before it is needed. */
	r = reader_start(NICE, &b->workers[0].reader);
	if (r == 0)
		r = start_worker(b, &b->workers[0]);
	if (r < 0)
		return r;
	*ret_reader = TAKE(b);
	return 0;
}

/* Hands all jobs of a queue back. */
static void finish_jobs(struct background_reader *b, struct read_job *job, int error)
{
	struct read_job *next;

	for (; job; job = next) {
		next = job->next;
		b->pending_count--;
		b->done_count++;
		job->done(job, error ? error : job->result);
	}
}

void background_reader_free(struct background_reader *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++)
		if (b->workers[i].reader)
			reader_cancel(b->workers[i].reader);
	pthread_cond_broadcast(&b->posted);
	pthread_mutex_unlock(&b->lock);
	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++)
		join_worker(&b->workers[i]);
	finish_jobs(b, b->done.first, 0);
	finish_jobs(b, b->waiting.first, -ECANCELED);
	closep(&b->done_fd);
	pthread_cond_destroy(&b->posted);
	pthread_cond_destroy(&b->finished);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

u64 read_job_owner(int fd)
{
	struct statx stat = { 0 };

	(void)statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_UID, &stat);
	return (u64)stat.stx_dev_minor << 32 ^ (u64)stat.stx_dev_major << 52 ^ stat.stx_uid;
}

bool background_reader_post(struct background_reader *b, struct read_job *job)
{
	job->posted_ns = monotonic_ns();
	job->is_slow = false;
	if (b->pending_count++ >= BACKGROUND_JOBS_MAX) {
		job->next = NULL;
		finish_jobs(b, job, -ECANCELED);
		return false;
	}
	pthread_mutex_lock(&b->lock);
	queue_add(&b->waiting, job);
	pthread_cond_signal(&b->posted);
	pthread_mutex_unlock(&b->lock);
	return true;
}

/* With the lock: the place of a thread that is to be started, since the others are held up; or NULL. */
static struct worker *wanted_worker(struct background_reader *b, u64 now_ns)
{
	u32 running = 0;
	struct worker *free_place = NULL;

	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++) {
		bool runs = b->workers[i].thread.is_started && !b->workers[i].has_ended;

		running += runs;
		if (!runs)
			free_place = &b->workers[i];
	}
	if (!free_place || b->busy_count < running || !b->waiting.first)
		return NULL;
	return now_ns > b->waiting.first->posted_ns + ANOTHER_THREAD_NS ? free_place : NULL;
}

void background_reader_poll(struct background_reader *b, u64 now_ns)
{
	struct worker *wanted;
	struct read_job *done;
	u64 count;

	if (!b->pending_count)
		return;
	pthread_mutex_lock(&b->lock);
	(void)!read(b->done_fd, &count, sizeof(count));
	done = b->done.first;
	b->done = (struct queue){ NULL, &b->done.first };
	wanted = wanted_worker(b, now_ns);
	pthread_mutex_unlock(&b->lock);
	if (wanted) {
		join_worker(wanted);	/* its thread has ended */
		(void)start_worker(b, wanted);	/* it is tried again */
	}
	finish_jobs(b, done, 0);
}

bool background_reader_wait(struct background_reader *b, const struct read_job *job, u64 limit_ns)
{
	u64 deadline = deadline_after(limit_ns);
	struct read_job **link, *found = NULL;
	u64 told;
	int r = 0;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		for (link = &b->done.first; *link && *link != job;)
			link = &(*link)->next;
		if (*link || r == -ETIMEDOUT)
			break;
		r = cond_wait_until(&b->finished, &b->lock, deadline);
	}
	if (*link)
		found = queue_remove(&b->done, link);
	/* Whoever looks at the descriptor would never sleep again, were it left to tell of this one. */
	if (!b->done.first)
		(void)!read(b->done_fd, &told, sizeof(told));
	pthread_mutex_unlock(&b->lock);
	if (!found)
		return false;
	found->next = NULL;
	finish_jobs(b, found, 0);
	return true;
}

int background_reader_fd(const struct background_reader *b)
{
	return b->done_fd;
}

u64 background_reader_done_count(const struct background_reader *b)
{
	return b->done_count;
}

struct reader_stats background_reader_stats(struct background_reader *b)
{
	struct reader_stats stats;

	LOCKED(&b->lock);
	stats = b->stats;
	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++)
		if (b->workers[i].reader)
			add_stats(&stats, reader_stats(b->workers[i].reader));
	return stats;
}

void background_reader_pids(struct background_reader *b, int ret_pids[BACKGROUND_READERS_MAX])
{
	LOCKED(&b->lock);
	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++)
		ret_pids[i] = b->workers[i].reader ? reader_pid(b->workers[i].reader) : 0;
}
