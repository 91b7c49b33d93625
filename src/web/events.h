/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells pages when the store has something new, by server-sent events:
 *
 *	id: 17
 *	data: 17
 *
 * A request is held without a thread until the generation differs from the one that its Last-Event-ID names, is
 * answered with that one event, and ends: the browser asks again by itself. So an event is a reply like all others, a
 * client that does not read blocks nobody, and one that is gone costs a place until the next event at most.
 *
 * At most EVENTS_MAX wait; more get -EAGAIN, and are to ask from time to time instead.
 */
#ifndef WEB_EVENTS_H
#define WEB_EVENTS_H

#include "base/cleanup.h"
#include "base/types.h"

struct buf;
struct events;
struct exchange;

#define EVENTS_MAX 64

struct events_ops {
	/* The generation of the store; 0 if there is none. */
	u64 (*generation)(void *arg);
	/* Ends an exchange; the text is taken over. */
	void (*reply)(void *arg, struct exchange *exchange, struct buf *text);
	void *arg;
};

/* Starts a thread, which sleeps while nobody waits. ops is copied. -ENOMEM, -EAGAIN. */
int events_new(const struct events_ops *ops, struct events **ret_events);
/* All that wait are answered, and those that come later get -EAGAIN. Accepts NULL. */
void events_stop(struct events *events);
/* After no exchange can come any more. */
void events_free(struct events *events);
DEFINE_CLEANUP(struct events *, events_free)

/* known: the generation that the client has, "" for none. -EAGAIN: too many wait; the exchange is the caller's. */
int events_wait(struct events *events, struct exchange *exchange, const char *known);

#endif
