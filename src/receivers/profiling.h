/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine as a source of profiles: a thread runs the tracer and closes a
 * window after each interval; whoever calls profiling_next() names the frames
 * and gets the window as a profile.
 *
 * All functions are called by one thread, the owner's, but profiling_stop() and profiling_counters(), which any may.
 */
#ifndef RECEIVERS_PROFILING_H
#define RECEIVERS_PROFILING_H

#include <stddef.h>

#include "base/cleanup.h"
#include "symbol/symbolizer.h"
#include "tracer/counters.h"
#include "tracer/tracer.h"

struct buf;
struct profile;
struct profiling;

#define PROFILING_INTERVAL_MS 5000

struct profiling_options {
	struct tracer_options tracer;
	struct symbolizer_options symbolizer;
	u32 interval_ms;	/* of a window; 0: PROFILING_INTERVAL_MS */
	u32 first_ms;		/* the first ends so long after the first sample, if that is sooner; 0: as the others */
	double jitter;		/* each interval is longer or shorter by up to this part of it, 0 to 1 */
	/*
	 * Of each such interval a draw decides whether it is sampled: that many of 100 are. 0: all.
	 */
	u32 draw_interval_ms, draw_percent;
	bool without_marks;	/* see profile/build.h */
	/* Optional: when a window is to end at the latest, CLOCK_MONOTONIC. The tracer's thread asks often. */
	u64 (*wanted_ns)(void *arg);
	void *wanted_arg;
};

/* Sampling has begun when this returns. On failure `why` gets a sentence. */
int profiling_start(const struct profiling_options *options, struct profiling **ret_profiling, struct buf *why);
void profiling_free(struct profiling *profiling);
DEFINE_CLEANUP(struct profiling *, profiling_free)

/*
 * Waits up to timeout_ms for a window to close: 1 and its profile, the caller's to free; 0 if none has; -ENODATA when
 * sampling was stopped and there is nothing left; -errno.
 */
int profiling_next(struct profiling *profiling, int timeout_ms, struct profile **ret_profile);

/* When the window that it returned last ended, CLOCK_MONOTONIC. */
u64 profiling_end_ns(const struct profiling *profiling);

/* Ends sampling. The window that was open closes; profiling_next() still returns it. */
void profiling_stop(struct profiling *profiling);

struct profiling_status {
	u64 samples;			/* since the start */
	u64 first_sample_ns;		/* CLOCK_MONOTONIC; 0: none yet */
	const char *event;		/* what the clock is */
	struct symbolizer_stats symbols;
	const char *kernel_problem;	/* "", or why kernel frames have no names */
	size_t counter_count;
	struct counter_value counters[COUNTER_VALUES_MAX];
};

/* As of a moment ago. */
void profiling_status(struct profiling *profiling, struct profiling_status *ret_status);

/* The counters alone: count_max of them at most; their number. */
size_t profiling_counters(struct profiling *profiling, struct counter_value *ret_values, size_t count_max);

#endif
