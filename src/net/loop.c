// SPDX-License-Identifier: Apache-2.0
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"

#define ROUND_EVENTS 64

struct loop {
	int epoll_fd;
	struct loop_fd wake;		/* an eventfd: something was posted */
	u64 now_ns;
	/* A heap by at_ns of the timers that are set; behind them, up to timer_count, those that are not. */
	struct loop_timer **timers;
	u32 set_count, timer_count, timer_cap;
	/* The events of this round that are still to come; a descriptor that goes away is taken out. */
	struct epoll_event events[ROUND_EVENTS];
	int event, event_count;
	/* Posts, by any thread. */
	pthread_mutex_t lock;
	struct loop_post *first, **last;
	struct thread thread;
	bool running;
	atomic_bool stopping;
};

/* ---- Timers ------------------------------------------------------------------ */

static void put_timer(struct loop *loop, u32 slot, struct loop_timer *timer)
{
	loop->timers[slot - 1] = timer;
	timer->slot = slot;
}

static void swap_timers(struct loop *loop, u32 a, u32 b)
{
	struct loop_timer *timer = loop->timers[a - 1];

	put_timer(loop, a, loop->timers[b - 1]);
	put_timer(loop, b, timer);
}

static bool earlier(const struct loop *loop, u32 a, u32 b)
{
	return loop->timers[a - 1]->at_ns < loop->timers[b - 1]->at_ns;
}

/* Moves a timer to where its time belongs. */
static void sift(struct loop *loop, u32 slot)
{
	for (; slot > 1 && earlier(loop, slot, slot / 2); slot /= 2)
		swap_timers(loop, slot, slot / 2);
	for (u32 child; (child = slot * 2) <= loop->set_count; slot = child) {
		if (child < loop->set_count && earlier(loop, child + 1, child))
			child++;
		if (!earlier(loop, child, slot))
			break;
		swap_timers(loop, slot, child);
	}
}

int loop_timer_add(struct loop *loop, struct loop_timer *timer)
{
	int r = array_reserve(&loop->timers, &loop->timer_cap, loop->timer_count + 1, sizeof(*loop->timers));

	if (r < 0)
		return r;
	timer->at_ns = 0;
	put_timer(loop, ++loop->timer_count, timer);
	return 0;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, u64 at_ns)
{
	bool was_set = timer->at_ns;
	u32 slot = timer->slot;

	assert(slot);
	if (at_ns == timer->at_ns)
		return;
	timer->at_ns = at_ns;
	if (at_ns) {
		if (!was_set)
			swap_timers(loop, slot, ++loop->set_count);
		sift(loop, timer->slot);
		return;
	}
	swap_timers(loop, slot, loop->set_count--);
	if (slot <= loop->set_count)
		sift(loop, slot);
}

void loop_timer_remove(struct loop *loop, struct loop_timer *timer)
{
	if (!timer->slot)
		return;
	loop_timer_set(loop, timer, 0);
	swap_timers(loop, timer->slot, loop->timer_count--);
	timer->slot = 0;
}

/* Each timer once at most: one that sets itself to the past waits for the next round. */
static void run_timers(struct loop *loop)
{
	u64 until_ns = loop->now_ns;

	for (u32 left = loop->set_count; left && loop->set_count && loop->timers[0]->at_ns <= until_ns; left--) {
		struct loop_timer *timer = loop->timers[0];

		loop_timer_set(loop, timer, 0);
		timer->expired(timer, until_ns);
	}
}

/* Rounded up, so that the loop does not spin before the time has come. */
static int wait_ms(const struct loop *loop, int timeout_ms)
{
	u64 now_ns, ms;

	if (!loop->set_count)
		return timeout_ms;
	now_ns = monotonic_ns();
	ms = loop->timers[0]->at_ns > now_ns ? (loop->timers[0]->at_ns - now_ns + 999999) / 1000000 : 0;
	return timeout_ms >= 0 && ms > (u64)timeout_ms ? timeout_ms : ms > 3600000 ? 3600000 : (int)ms;
}

/* ---- Posts ------------------------------------------------------------------- */

void loop_post(struct loop *loop, struct loop_post *post)
{
	bool first;

	post->next = NULL;
	pthread_mutex_lock(&loop->lock);
	first = !loop->first;
	*loop->last = post;
	loop->last = &post->next;
	pthread_mutex_unlock(&loop->lock);
	if (first)
		(void)eventfd_write(loop->wake.fd, 1);
}

static void run_posts(struct loop_fd *wake, u32 events)
{
	struct loop *loop = (struct loop *)((char *)wake - offsetof(struct loop, wake));
	struct loop_post *post, *next;
	eventfd_t count;

	(void)eventfd_read(wake->fd, &count);
	pthread_mutex_lock(&loop->lock);
	post = loop->first;
	loop->first = NULL;
	loop->last = &loop->first;
	pthread_mutex_unlock(&loop->lock);
	for (; post; post = next) {
		next = post->next;
		post->run(post);
	}
}

struct call {
	struct loop_post post;
	void (*run)(void *arg);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t done_cond;
	bool done;
};

static void run_call(struct loop_post *post)
{
	struct call *call = (struct call *)post;

	call->run(call->arg);
	LOCKED(&call->lock);
	call->done = true;
	pthread_cond_signal(&call->done_cond);
}

void loop_call(struct loop *loop, void (*run)(void *arg), void *arg)
{
	struct call call = { .post.run = run_call, .run = run, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER,
			     .done_cond = PTHREAD_COND_INITIALIZER };

	if (!loop->running || pthread_equal(loop->thread.id, pthread_self())) {
		run(arg);
		return;
	}
	loop_post(loop, &call.post);
	pthread_mutex_lock(&call.lock);
	while (!call.done)
		pthread_cond_wait(&call.done_cond, &call.lock);
	pthread_mutex_unlock(&call.lock);
	pthread_mutex_destroy(&call.lock);
	pthread_cond_destroy(&call.done_cond);
}

/* ---- Descriptors --------------------------------------------------------------- */

int loop_watch(struct loop *loop, struct loop_fd *fd, u32 events)
{
	struct epoll_event event = { .events = events, .data.ptr = fd };

	if (fd->watched && events == fd->events)
		return 0;
	if (epoll_ctl(loop->epoll_fd, fd->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd->fd, &event) < 0)
		return -errno;
	fd->watched = true;
	fd->events = events;
	return 0;
}

void loop_forget(struct loop *loop, struct loop_fd *fd)
{
	if (!fd->watched)
		return;
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd->fd, NULL);
	fd->watched = false;
	fd->events = 0;
	for (int i = loop->event; i < loop->event_count; i++)
		if (loop->events[i].data.ptr == fd)
			loop->events[i].data.ptr = NULL;
}

/* ---- The loop ------------------------------------------------------------------ */

u64 loop_now(const struct loop *loop)
{
	return loop->now_ns;
}

void loop_round(struct loop *loop, int timeout_ms)
{
	int count = epoll_wait(loop->epoll_fd, loop->events, ROUND_EVENTS, wait_ms(loop, timeout_ms));

	loop->now_ns = monotonic_ns();
	loop->event_count = count > 0 ? count : 0;
	for (loop->event = 0; loop->event < loop->event_count;) {
		struct epoll_event *event = &loop->events[loop->event++];
		struct loop_fd *fd = event->data.ptr;

		if (fd)
			fd->ready(fd, event->events);
	}
	loop->event = loop->event_count = 0;
	run_timers(loop);
}

static void *run_loop(void *arg)
{
	struct loop *loop = arg;

	while (!atomic_load(&loop->stopping))
		loop_round(loop, -1);
	return NULL;
}

int loop_new(struct loop **ret_loop)
{
	_cleanup_(loop_freep) struct loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop)
		return -ENOMEM;
	pthread_mutex_init(&loop->lock, NULL);
	loop->last = &loop->first;
	loop->wake = (struct loop_fd){ .fd = -1, .ready = run_posts };
	loop->now_ns = monotonic_ns();
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return -errno;
	loop->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->wake.fd < 0)
		return -errno;
	r = loop_watch(loop, &loop->wake, EPOLLIN);
	if (r < 0)
		return r;
	*ret_loop = TAKE(loop);
	return 0;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	loop_stop(loop);
	if (loop->wake.fd >= 0)
		close(loop->wake.fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	pthread_mutex_destroy(&loop->lock);
	free(loop->timers);
	free(loop);
}

int loop_start(struct loop *loop, const char *name)
{
	int r;

	loop->running = true;
	r = thread_start(&loop->thread, name, run_loop, loop);
	if (r < 0)
		loop->running = false;
	return r;
}

struct stop {
	struct loop_post post;
	struct loop *loop;
};

static void run_stop(struct loop_post *post)
{
	struct stop *stop = (struct stop *)post;

	atomic_store(&stop->loop->stopping, true);
}

void loop_stop(struct loop *loop)
{
	struct stop stop = { { .run = run_stop }, loop };

	if (!loop->running)
		return;
	loop_post(loop, &stop.post);
	thread_join(&loop->thread);
	loop->running = false;
}
