/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How complete profiles are: of each cgroup the CPU time that samples stand for beside what the kernel has counted,
 * both since it was met and with those below it; of each service how much of the sampled time has whole stacks, cut
 * ones, and frames without a name.
 *
 * What was met first has rows of its own, METER_ROWS of each, the rest is "(other)". Rows never go or change their
 * names: who has a pointer to one keeps it as long as the meter.
 *
 * One thread, but for meter_read().
 */
#ifndef AGENT_METER_H
#define AGENT_METER_H

#include <stddef.h>

#include "base/cleanup.h"
#include "tracer/counters.h"

struct symbolizer;
struct window;
struct meter;

/* cgroups: "/sys/fs/cgroup". NULL for lack of memory. */
struct meter *meter_new(const char *cgroups);
void meter_free(struct meter *meter);
DEFINE_CLEANUP(struct meter *, meter_free)

/* What the kernel has counted, of the cgroups that are known: at the end of each window, by whoever ends it. */
struct meter_reading {
	u32 count;
	u64 exact_ns[METER_ROWS];	/* 0: not to be had */
};
void meter_read(const struct meter *meter, struct meter_reading *ret_reading);

/*
 * A window of samples on CPUs whose frames have been named, and what was read when it ended; period_ns: what a sample
 * of value 1 stands for.
 */
void meter_note(struct meter *meter, const struct window *window, const struct meter_reading *reading,
		struct symbolizer *symbolizer, u64 period_ns);

/* METER_VALUES at most; how many. */
u32 meter_counters(const struct meter *meter, struct counter_value ret_values[METER_VALUES]);

#endif
