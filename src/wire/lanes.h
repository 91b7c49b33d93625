/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a profile (kinds/lanes): what each thread did, in order of time and without overlap, for formats that
 * have a line of time. What was told in parts, since a window ended in between, is one again; of what was told twice,
 * since the thread was switched while a window ended, the first counts.
 *
 * Borrows the profile, which must outlive it unchanged.
 */
#ifndef WIRE_LANES_H
#define WIRE_LANES_H

#include "kinds/waits.h"
#include "wire/events.h"

struct sample_types;

struct lane_part {
	u64 start_ns, end_ns;		/* since 1970 */
	u32 reason;			/* enum wait_reason; REASON_NONE: it ran */
	u32 stack;			/* in the kernel, where it waited; 0: not known */
};

struct lane {
	struct str name, process;
	s64 pid, tid;			/* -1 if unknown */
	u32 first, count;		/* its parts */
	bool is_taken;
};

struct lanes {
	struct lane_part *parts;
	struct lane *at;		/* by process, thread and name */
	u32 count;
	u64 start_ns;			/* of the first of all */
	struct event_list events;	/* has the names */
};

int lanes_init(struct lanes *lanes, const struct profile *profile);
void lanes_done(struct lanes *lanes);

/* The lane of a thread, which is then taken; NULL: it has none, or that is taken. */
const struct lane *lanes_take(struct lanes *lanes, const struct events_thread *thread);

/* When all begins: lanes, and the samples beside them. */
u64 lanes_begin_ns(const struct lanes *lanes, const struct event_list *events);

/* What a part is called. */
const char *lane_part_name(const struct lane_part *part);

/* The sample type of the profile that is shown beside lanes: the default one, but not lanes themselves; "": none. */
const char *lanes_other_type(const struct sample_types *types);

#endif
