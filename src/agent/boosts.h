/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which boosts run (proc/boost.h), and whether one more may: at most BOOSTS_MAX, one of the same processes, none while
 * wick is short of CPU time, BOOST_CHANGES_MAX changes in BOOST_CHANGES_NS, since at each of them all processes are
 * looked at anew. Each ends by itself, and all of them where wick gets short of CPU time.
 *
 * Without a clock of its own. One thread.
 */
#ifndef AGENT_BOOSTS_H
#define AGENT_BOOSTS_H

#include <stdbool.h>

#include "base/types.h"
#include "proc/boost.h"

/* id, what is said of it. Those from REFUSED on never ran. */
#define BOOST_OUTCOMES(X)                                                                                       \
	X(RUNS, "it runs")                                                                                      \
	X(OVER, "its time is over")                                                                             \
	X(STOPPED, "it was stopped")                                                                            \
	X(SPARED, "it was ended early: wick has used so much of its CPU budget that sampling gets less")        \
	X(REFUSED, "it says nothing that could be meant")                                                       \
	X(TIGHT, "wick has used too much of its CPU budget of late to sample anything faster; `wick` says in "  \
	  "its log when there is room again")                                                                   \
	X(SLOW, "its rate is not above the one that everything is sampled at")                                  \
	X(SAME, "one of the same processes runs already: stop that one first")                                  \
	X(FULL, "4 run already: stop one, or wait for its end")                                                 \
	X(SOON, "there were too many of them: try again in some seconds")                                       \
	X(NO_CLOCK, "the kernel gives no clock of that rate (kernel.perf_event_max_sample_rate), or CPU time is " \
	  "not sampled by a clock here")

enum boost_outcome {
#define X(id, text) BOOST_##id,
	BOOST_OUTCOMES(X)
#undef X
	BOOST_OUTCOME_COUNT,
};

#define BOOST_CHANGES_MAX 8
#define BOOST_CHANGES_NS 10000000000ull

/* What became of one. */
struct boost_event {
	u32 id;
	enum boost_outcome outcome;
	u64 end_ns;		/* of one that runs, CLOCK_MONOTONIC */
};

struct boosts {
	struct boost_list list;
	u64 end_ns[BOOSTS_MAX];
	u64 changes_ns[BOOST_CHANGES_MAX];	/* the last ones, in turns */
	u32 change;
};

/* What is asked for, and what became of it, on their way between two threads; the caller locks. */
#define BOOST_MAIL_MAX 8
#define BOOST_EVENTS_MAX 16

struct boost_mail {
	struct boost asked[BOOST_MAIL_MAX];
	u32 asked_count;
	struct boost_event events[BOOST_EVENTS_MAX];
	u32 event_count;
};

/* -EBUSY: there is no room. */
int boost_mail_ask(struct boost_mail *mail, const struct boost *boost);
u32 boost_mail_take(struct boost_mail *mail, struct boost ret_asked[BOOST_MAIL_MAX]);

/* Where there is no room the oldest goes: who asked knows when it ends all the same. */
void boost_mail_tell(struct boost_mail *mail, const struct boost_event *event);
u32 boost_mail_events(struct boost_mail *mail, struct boost_event ret_events[BOOST_EVENTS_MAX]);

/* "" for a number that is none. */
const char *boost_outcome_text(u64 outcome);

/* BOOST_RUNS: it is in the list from now on. is_tight: there is no CPU time for it. */
enum boost_outcome boosts_start(struct boosts *boosts, const struct boost *boost, u32 usual_hz, bool is_tight,
				u64 now_ns, struct boost_event *ret_event);

/* Takes it out of the list; false if it is not there. */
bool boosts_stop(struct boosts *boosts, u32 id, enum boost_outcome outcome, struct boost_event *ret_event);

/* Takes out one that is over; false: none is. */
bool boosts_expire(struct boosts *boosts, u64 now_ns, struct boost_event *ret_event);

/* When the next is over; UINT64_MAX: there is none. */
u64 boosts_due_ns(const struct boosts *boosts);

#endif
