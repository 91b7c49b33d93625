/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of one sample type one by one, for formats that have a line of
 * time: by thread, in order of time. A sample without times happened when its
 * profile began.
 *
 * Borrows the profile, which must outlive it unchanged. 32 bytes for each
 * event, at most EVENTS_MAX; more are -E2BIG.
 */
#ifndef WIRE_EVENTS_H
#define WIRE_EVENTS_H

#include "analysis/frame.h"
#include "profile/profile.h"

#define EVENTS_MAX (128u << 20)
#define EVENTS_LANES "lanes"	/* the sample type of lanes (kinds/lanes), of which reasons are read */

struct event {
	u64 time_ns;		/* since the start of the profile */
	s64 value;
	u32 stack, thread;
	u32 reason;		/* of those of EVENTS_LANES: enum wait_reason */
	u32 pad;
};

struct events_thread {
	struct str name, process;	/* "[unknown]" if nobody knows */
	s64 pid, tid;			/* -1 if unknown */
	u32 first, count;		/* its events */
};

struct event_list {
	struct event *at;
	u32 count, cap;
	struct events_thread *threads;
	u32 thread_count, thread_cap;
	struct str type, unit;		/* of the values */
	u64 start_unix_ns, period_ns;	/* 0 if unknown */
	struct frame_set thread_frames, process_frames;
};

/* Of the sample type with this name. */
int events_init(struct event_list *events, const struct profile *profile, const char *type);
void events_done(struct event_list *events);

#endif
