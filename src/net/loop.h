/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that waits for everything: descriptors, timers, and calls from
 * other threads.
 *
 *	loop_post()	from any thread: runs a callback in the loop; its memory is the caller's, nothing can fail
 *	loop_call()	the same, and waits until it has run
 *	all else	in the loop's thread only (or before loop_start())
 *
 * Callbacks do not block. Those of descriptors may close any descriptor: one
 * that was closed by an earlier callback of the same round is not called.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct loop;

/* A descriptor that is waited for; embedded in what it belongs to. */
struct loop_fd {
	int fd;				/* -1: none */
	u32 events;			/* EPOLLIN, EPOLLOUT; 0: only errors */
	bool watched;
	void (*ready)(struct loop_fd *fd, u32 events);
};

/* A point in time; embedded likewise. */
struct loop_timer {
	u64 at_ns;			/* CLOCK_MONOTONIC; 0: not set */
	u32 slot;			/* in the heap, from 1 */
	void (*expired)(struct loop_timer *timer, u64 now_ns);
};

/* A call that another thread asks for. */
struct loop_post {
	struct loop_post *next;
	void (*run)(struct loop_post *post);
};

int loop_new(struct loop **ret_loop);
void loop_free(struct loop *loop);
DEFINE_CLEANUP(struct loop *, loop_free)

/* Starts and ends the thread. What was posted before loop_stop() has run when it returns. */
int loop_start(struct loop *loop, const char *name);
void loop_stop(struct loop *loop);

/* One round in the caller's thread, for those that have no thread of its own. */
void loop_round(struct loop *loop, int timeout_ms);

/* The time at which this round began. */
u64 loop_now(const struct loop *loop);

void loop_post(struct loop *loop, struct loop_post *post);
void loop_call(struct loop *loop, void (*run)(void *arg), void *arg);

/* Adds, changes; loop_forget() before the descriptor is closed. */
int loop_watch(struct loop *loop, struct loop_fd *fd, u32 events);
void loop_forget(struct loop *loop, struct loop_fd *fd);

/* A timer takes a place in the heap once, so that setting it cannot fail; at_ns 0 unsets it. */
int loop_timer_add(struct loop *loop, struct loop_timer *timer);
void loop_timer_remove(struct loop *loop, struct loop_timer *timer);
void loop_timer_set(struct loop *loop, struct loop_timer *timer, u64 at_ns);

#endif
