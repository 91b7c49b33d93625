/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine as a source of profiles: a thread runs the tracer and closes a
 * window after each interval; whoever calls agent_next() names the frames
 * and gets the window as a profile.
 *
 * All functions are called by one thread, the owner's, but agent_stop() and agent_counters(), which any may.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stddef.h>
#include <sys/types.h>

#include "agent/boosts.h"
#include "base/cleanup.h"
#include "symbol/symbolizer.h"
#include "tracer/counters.h"
#include "tracer/tracer.h"

struct buf;
struct profile;
struct agent;

struct agent_options {
	/* No kinds: cpu. They are the agent's from agent_start() on, whatever it returns. */
	struct tracer_options tracer;
	struct symbolizer_options symbolizer;
	u32 interval_ms;	/* of a window */
	u32 first_ms;		/* the first ends so long after the first sample, if that is sooner; 0: as the others */
	double jitter;		/* each interval is longer or shorter by up to this part of it, 0 to 1 */
	/*
	 * Of each such interval a draw decides whether it is sampled: that many of 100 are. 0: all.
	 */
	u32 draw_interval_ms, draw_percent;
	double cpu_max;		/* CPUs that it may use over a span (agent/governor.h); 0: that is only measured */
	u64 cpu_span_ns;	/* 0: a minute */
	bool without_marks;	/* see agent/build.h */
	bool says_host;		/* resources have host.name and host.id: profiles leave this machine */
	/* Optional: when a window is to end at the latest, CLOCK_MONOTONIC. The tracer's thread asks often. */
	u64 (*wanted_ns)(void *arg);
	void *wanted_arg;
};

/*
 * What all who sample begin with: cpu, 20 times a second on each CPU; inlined functions; what is fetched or compiled is
 * kept below AGENT_CACHE_PATH.
 */
#define AGENT_CACHE_PATH "/var/cache/wick"
#define AGENT_CGROUPS "/sys/fs/cgroup"
extern const struct agent_options agent_defaults;

/* Sampling has begun when this returns. On failure `why` gets a sentence. */
int agent_start(const struct agent_options *options, struct agent **ret_agent, struct buf *why);
void agent_free(struct agent *agent);
DEFINE_CLEANUP(struct agent *, agent_free)

/*
 * Waits up to timeout_ms for a window to close: 1 and its profile, the caller's to free; 0 if none has; -ENODATA when
 * sampling was stopped and there is nothing left; -errno.
 */
int agent_next(struct agent *agent, int timeout_ms, struct profile **ret_profile);

/* When the window that it returned last ended, CLOCK_MONOTONIC. */
u64 agent_end_ns(const struct agent *agent);

/* How often the thread that takes samples went round: while that grows it is not stuck. Any thread. */
u64 agent_rounds(const struct agent *agent);

/* Ends sampling. The window that was open closes; agent_next() still returns it. */
void agent_stop(struct agent *agent);

struct agent_status {
	u64 samples;			/* since the start */
	u64 first_sample_ns;		/* CLOCK_MONOTONIC; 0: none yet */
	const char *event;		/* what makes samples: "20 a second by cpu-clock", or several with commas */
	struct symbolizer_stats symbols;
	const char *kernel_problem;	/* "", or why kernel frames have no names */
	size_t counter_count;
	struct counter_value counters[COUNTER_VALUES_MAX];
};

/* As of a moment ago. */
void agent_status(struct agent *agent, struct agent_status *ret_status);

/* Whether OBI tells for which requests threads work. Any thread. */
enum obi_state agent_obi(const struct agent *agent);

/* Other processes of ours, whose samples are marked as wick's own; 0: none. Any thread. */
void agent_note_companions(struct agent *agent, pid_t supervisor, pid_t service);

/* Other rules about processes, which become the agent's. Any thread. */
void agent_choose(struct agent *agent, struct process_choice *choice);

/*
 * Samples processes faster for a while, or stops that (id 0: all of them). What becomes of it is an event, soon after.
 * -EBUSY: others are waited for. Any thread.
 */
int agent_boost(struct agent *agent, const struct boost *boost);
int agent_unboost(struct agent *agent, u32 id);

/* What became of boosts since it was last asked, oldest first; how many. */
u32 agent_boost_events(struct agent *agent, struct boost_event ret_events[BOOST_EVENTS_MAX]);

/* How complete profiles are (agent/meter.h); texts live as long as the agent. How many. */
u32 agent_completeness(struct agent *agent, struct counter_value ret_values[METER_VALUES]);

/* The counters with that, alone: count_max of them at most; their number. Texts likewise. */
size_t agent_counters(struct agent *agent, struct counter_value *ret_values, size_t count_max);

#endif
