/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time that work for senders costs, and who of them has to come later so that it stays within a limit over any
 * span. Whoever works for a sender notes what it took: the server's loop, handlers, exporters. Whoever receives asks
 * before the next request is taken.
 *
 *  - It is a bucket that leaks: an eighth of what a span may cost fits, and five eighths leak out in a span. The rest
 *    is for what is under way when it is full, whose cost is known later; so the limit holds over any span. To turn
 *    somebody away costs, too, and is noted like the rest.
 *  - When it is full, those are turned away who have more than an equal part of it: the loud ones. Who sends little is
 *    served, however much others send.
 *  - Without a limit nothing is noted and nobody is turned away. The first span after the first limit does not count.
 *  - A sender is a key, 0: this machine itself, which is not noted. A fixed table by a seeded hash: those that meet
 *    share one. One ledger, as there is one budget. Any thread.
 */
#ifndef BASE_SENDER_TIME_H
#define BASE_SENDER_TIME_H

#include <stdbool.h>

#include "base/types.h"

#define SENDER_TIME_LOCAL 0

struct sender_time_limit {
	double cpus;		/* 0.005: five thousandths of one; 0: no limit */
	u64 span_ns;
};

/*
 * By whoever owns the limit, as often as he likes: the last one holds. now_ns is CLOCK_MONOTONIC, here and below.
 * With no limit by an owner who has none to give up, nothing changes.
 */
void sender_time_set(const void *owner, const struct sender_time_limit *limit, u64 now_ns);

/* What this thread has used of a CPU; 0 without a limit. */
u64 sender_time_of_thread(void);

/* Since sender_time_of_thread() said began_ns; 0: it is not noted. */
void sender_time_note_since(u64 sender, u64 began_ns);
void sender_time_note(u64 sender, u64 cpu_ns, u64 now_ns);

/* False: it is to come later, which is counted. */
bool sender_time_allows(u64 sender, u64 now_ns);

struct sender_time_told {
	u64 used_ns;		/* noted since the first limit */
	u64 turned_away;	/* requests, likewise */
	bool turns_away;	/* somebody, within the last sixth of a span */
};
struct sender_time_told sender_time_tell(u64 now_ns);

/* Forgets all, for tests. */
void sender_time_reset(void);

#endif
