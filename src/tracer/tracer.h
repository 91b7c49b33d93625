/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracer: loads the kernel half, drains what it sends, keeps the process
 * table in step with the kernel's, and folds samples into windows.
 *
 *	tracer_open()  -> tracer_start() -> tracer_poll() ... -> tracer_take_window() ... -> tracer_free()
 *
 * One thread calls all of it, except tracer_wake().
 */
#ifndef TRACER_TRACER_H
#define TRACER_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "kinds/choice.h"
#include "proc/boost.h"
#include "proc/containers.h"
#include "proc/environment.h"
#include "proc/process_rules.h"
#include "proc/thread_labels.h"
#include "tracer/counters.h"
#include "tracer/obi_map.h"

struct buf;
struct reader;
struct tracer;
struct window;

/* In millionths of a CPU, over a minute. */
struct tracer_cost {
	u64 used_ppm, limit_ppm;
	u32 step;	/* enum governor_step */
};

/* How waits are sampled (kinds/off_cpu). */
struct wait_options {
	u64 min_ns;			/* shorter ones have no stack, but count */
	u32 walks_max;			/* stacks a second on each CPU; 0: the default */
	u32 chance;			/* of each wait, in 2^32; 0: by its length */
};

struct tracer_options {
	struct kind_choices kinds;
	struct wait_options waits;
	u64 lanes_max;			/* parts of lanes that are kept, from the start on; 0: all that fit a window */
	u32 frequency_hz;		/* of those that a clock samples */
	const pid_t *pids;		/* only these processes, if pid_count is not 0 */
	size_t pid_count;
	bool follow_children;		/* of those */
	const char *cgroup_path;	/* only this cgroup and those below it; NULL: all */
	const char *cache_path;		/* for unwind rows; NULL: no cache */
	size_t rows_max_bytes;		/* in BPF memory; 0: the default */
	size_t waiting_max_bytes;	/* of stacks that wait for files; 0: the default */
	bool no_kernel_version_check;
	bool without_requests;		/* that threads work for: nobody is asked which */
	const char *bpf_root;		/* a BPF file system, in which OBI may tell (tracer/obi_map.h); NULL: none */
	struct thread_label_specs thread_labels;	/* variables as labels of samples; borrowed while it opens */
	bool command_lines;		/* of processes go into profiles: they may hold secrets */
	struct environment_names environment;	/* variables of processes that go into profiles */
	struct containers_options containers;	/* whom to ask what containers are; borrowed while it opens */
	u64 process_age_min_ns;		/* samples of processes younger than that are left out */
	struct process_choice_spec choice;	/* rules about processes; borrowed while it opens */
	bool may_choose;		/* there are some, or tracer_choose() may be called */
	const char *cpus;		/* only these are sampled, as "0-3,8"; NULL: all */
	u32 langs_off;			/* bit n: frames of language n (lang/list.h) are left native */
	u32 lang_wishes;		/* what their names say (lang/options.h) */
	u32 verifier_log_level;		/* of the kernel's verifier, to standard error; 0: none */
};

/*
 * On failure `why` gets a sentence that says what is missing and what to do.
 * The reader, of names, stays the caller's and must outlive the tracer: what happens to it is counted, too.
 */
int tracer_open(const struct tracer_options *options, struct reader *reader, struct tracer **ret_tracer,
		struct buf *why);
void tracer_free(struct tracer *tracer);
DEFINE_CLEANUP(struct tracer *, tracer_free)

/* Other rules hold from the next moment on; they become the tracer's. NULL: none. Any thread. */
void tracer_choose(struct tracer *tracer, struct process_choice *choice);

/*
 * These processes are sampled by faster clocks from now on, and no others; copied. Their samples have periods of their
 * own, all others stay as they are. -errno: there are no such clocks, and nobody is.
 */
int tracer_boost(struct tracer *tracer, const struct boost_list *boosts);

/* Whether OBI tells of threads. Any thread. */
enum obi_state tracer_obi(const struct tracer *tracer);

/* Begins to sample. */
int tracer_start(struct tracer *tracer, struct buf *why);

/* Samples no more, or again; windows go on. */
void tracer_pause(struct tracer *tracer, bool pause);

/*
 * What is left out from now on, to cost less; files are read slowly: who reads rests so many times as long. While no
 * stacks are taken process events are not read either: the kernel keeps some, and counts those that it loses.
 */
void tracer_set_pace(struct tracer *tracer, const struct pace *pace, u32 rest_times);

/* What the kernel half has cost so far. */
u64 tracer_kernel_ns(const struct tracer *tracer);

/* What all of it costs, in millionths of a CPU, and what is left out for that: counted with the rest. */
void tracer_note_cost(struct tracer *tracer, const struct tracer_cost *cost);

/* Stops sampling; what was taken until then can still be polled, and waits for the files that it needs. */
void tracer_stop(struct tracer *tracer);

/* Waits up to timeout_ms for something to do, does it. 0, or -errno if the tracer cannot go on. */
int tracer_poll(struct tracer *tracer, int timeout_ms);

/* Ends the wait of tracer_poll(), from any thread or a signal handler. */
void tracer_wake(struct tracer *tracer);

/* The window so far, the caller's to free; the next one begins. NULL for lack of memory. */
struct window *tracer_take_window(struct tracer *tracer);

#define TRACER_READERS_MAX 3

/* The processes that read files for it, 0 where there is none. */
void tracer_reader_pids(struct tracer *tracer, pid_t ret_pids[TRACER_READERS_MAX]);

/* What makes samples: "cycles" or "cpu-clock", and others with commas. */
const char *tracer_event_name(const struct tracer *tracer);

/* Samples taken since the start, and when the first one was read (CLOCK_MONOTONIC, 0: none yet). */
u64 tracer_sample_count(const struct tracer *tracer);
u64 tracer_first_sample_ns(const struct tracer *tracer);

/* All counters, by name: count_max of them at most; their number. */
size_t tracer_counters(struct tracer *tracer, struct counter_value *ret_values, size_t count_max);

#endif
