/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a perf.data file, equal ones joined, before they become a
 * profile: build ids may come last.
 */
#ifndef WIRE_PERFREAD_GATHER_H
#define WIRE_PERFREAD_GATHER_H

#include "wire/perf/perfread.h"
#include "wire/perf/perfread_events.h"
#include "wire/perf/perfread_system.h"

#define PERFREAD_NO_NUMBER 0xffffffffu		/* of a thread or a CPU: not known */

enum perfread_space { PERFREAD_USER_SPACE, PERFREAD_KERNEL_SPACE, PERFREAD_GUEST_SPACE };

/* Keys of interners: no padding. */
struct perfread_frame {
	u32 region;		/* or 0 */
	u32 space;		/* enum perfread_space */
	u64 address;
};

struct perfread_sample_key {
	u32 program, event, tid, name, cpu, stack;
};

struct perfread_tick {
	u32 sample, pad;
	u64 time_ns;
	s64 period;
};

struct perfread_sum {
	s64 count, periods;
};

/* What all samples of an event have. */
struct perfread_event_sum {
	u64 count;
	s64 period;		/* as the event says, else of the first */
	bool differs;		/* others have another ... */
	bool varies;		/* ... that is not a multiple of it */
};

struct perfread_gather {
	const struct perfread_options *options;
	struct perfread_about *about;
	struct perfread_system *system;
	struct arena arena;
	struct interner frames, stacks, samples;	/* a stack is a list of frames' numbers */
	struct perfread_sum *sums;		/* by sample */
	struct perfread_tick *ticks;
	struct perfread_event_sum *events;	/* by event */
	u32 *stack;				/* of the sample at hand */
	u32 sum_cap, tick_count, tick_cap, event_cap, stack_count, stack_cap;
	u64 first_ns, last_ns;
	bool lacks_times;			/* samples have none, or there are too many */
};

void perfread_gather_init(struct perfread_gather *gather, const struct perfread_options *options,
			  struct perfread_system *system, struct perfread_about *about);
void perfread_gather_done(struct perfread_gather *gather);

/* A sample, at its turn. misc is its record's. -ENOMEM, -E2BIG. */
int perfread_gather_sample(struct perfread_gather *gather, u16 misc, const struct perfread_sample *sample);

#endif
