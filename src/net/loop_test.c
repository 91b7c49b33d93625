// SPDX-License-Identifier: Apache-2.0
#include "net/loop.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/work.h"
#include "test.h"

/* ---- Timers ------------------------------------------------------------------------------ */

struct alarm {
	struct loop_timer timer;
	u64 at_ns;			/* 0: not set */
};

static u64 last_ns;
static u32 rung;

static void ring(struct loop_timer *timer, u64 now_ns)
{
	struct alarm *alarm = (struct alarm *)timer;

	OK(alarm->at_ns >= last_ns);
	last_ns = alarm->at_ns;
	alarm->at_ns = 0;
	rung++;
}

/* Times in the past, set and unset at random: what is left rings in order. */
TEST(loop_timers_ring_in_order)
{
	static struct alarm alarms[200];
	struct loop *loop;
	u32 seed = 1, set = 0;

	EQ(loop_new(&loop), 0);
	for (int i = 0; i < 200; i++) {
		alarms[i].timer.expired = ring;
		EQ(loop_timer_add(loop, &alarms[i].timer), 0);
	}
	for (int i = 0; i < 5000; i++) {
		struct alarm *alarm = &alarms[(seed = seed * 1664525 + 1013904223) >> 8 & 127];

		alarm->at_ns = seed >> 16 & 3 ? 1 + (seed >> 20) : 0;
		loop_timer_set(loop, &alarm->timer, alarm->at_ns);
	}
	for (int i = 128; i < 200; i += 2)
		loop_timer_remove(loop, &alarms[i].timer);
	for (int i = 0; i < 200; i++)
		set += alarms[i].at_ns != 0;
	loop_round(loop, 0);
	EQ(rung, set);
	loop_round(loop, 0);
	EQ(rung, set);
	for (int i = 0; i < 200; i++)
		loop_timer_remove(loop, &alarms[i].timer);
	loop_free(loop);
}

static void ring_again(struct loop_timer *timer, u64 now_ns)
{
	rung++;
	loop_timer_set(*(struct loop **)(timer + 1), timer, 1);
}

TEST(loop_timer_that_sets_itself_to_the_past_rings_once_a_round)
{
	struct { struct loop_timer timer; struct loop *loop; } again = { .timer.expired = ring_again };

	EQ(loop_new(&again.loop), 0);
	EQ(loop_timer_add(again.loop, &again.timer), 0);
	loop_timer_set(again.loop, &again.timer, 1);
	loop_round(again.loop, 0);
	EQ(rung, 1);
	loop_round(again.loop, 0);
	EQ(rung, 2);
	loop_free(again.loop);
}

/* ---- Descriptors ---------------------------------------------------------------------------- */

static struct loop *shared;
static struct loop_fd ends[2];

/* Whichever is called first forgets the other. */
static void forget_other(struct loop_fd *fd, u32 events)
{
	rung++;
	loop_forget(shared, fd);
	loop_forget(shared, &ends[fd == &ends[0]]);
}

TEST(loop_does_not_call_what_was_forgotten_in_the_same_round)
{
	int fds[2];

	EQ(loop_new(&shared), 0);
	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	for (int i = 0; i < 2; i++) {
		ends[i] = (struct loop_fd){ .fd = fds[i], .ready = forget_other };
		EQ(loop_watch(shared, &ends[i], EPOLLOUT), 0);
	}
	loop_round(shared, 0);
	EQ(rung, 1);
	loop_free(shared);
	close(fds[0]);
	close(fds[1]);
}

/* ---- Threads ----------------------------------------------------------------------------------- */

static void add_one(void *arg)
{
	++*(u32 *)arg;
}

struct posted {
	struct loop_post post;
	u32 *count;
};

static void add_posted(struct loop_post *post)
{
	++*((struct posted *)post)->count;
}

TEST(loop_runs_what_other_threads_ask_for)
{
	struct posted posted[100];
	struct loop *loop;
	u32 count = 0;

	EQ(loop_new(&loop), 0);
	EQ(loop_start(loop, "test"), 0);
	for (int i = 0; i < 100; i++) {
		posted[i] = (struct posted){ { .run = add_posted }, &count };
		loop_post(loop, &posted[i].post);
	}
	loop_call(loop, add_one, &count);
	EQ(count, 101);
	loop_post(loop, &posted[0].post);
	loop_stop(loop);
	EQ(count, 102);
	loop_free(loop);
}

static _Atomic u32 done_count;

static void count_done(struct work_item *item)
{
	done_count++;
}

TEST(work_is_done_before_its_threads_end)
{
	struct work_item items[1000] = { 0 };
	struct work *work;

	EQ(work_new(work_thread_count(), &work), 0);
	for (int i = 0; i < 1000; i++) {
		items[i].run = count_done;
		work_add(work, &items[i]);
	}
	work_free(work);
	EQ(done_count, 1000);
	EQ(work_new(0, &work), 0);
	work_add(work, &items[0]);
	EQ(done_count, 1001);
	work_free(work);
}
