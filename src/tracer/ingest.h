/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where samples and process events meet: each sample is put to the process it
 * belongs to, at the time it was taken, and folded into the window.
 *
 * A sample of a known process with its frames goes straight in. One of a
 * process that is not known yet, or with a slice of stack to unwind, waits
 * until all process events before it have been applied (ingest_settle()). A
 * slice whose process runs files that are still being read waits for these,
 * too, for a while: nobody else does. It is then put to its process as it was.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_INGEST_H
#define TRACER_INGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "base/cleanup.h"
#include "proc/environment.h"
#include "tracer/counters.h"
#include "tracer/sideband.h"

struct background_reader;
struct containers;
struct ingest;
struct loader;
struct peek;
struct boost_list;
struct process_choice;
struct tables;
struct thread_labels;
struct unread;
struct window;

struct ingest_options {
	struct tables *tables;
	struct loader *loader;		/* of languages' programs; NULL: there are none */
	struct sideband *sideband;
	struct background_reader *reader;
	struct peek *peek;	/* how processes are looked at */
	struct containers *containers;	/* who knows what containers are called; NULL: nobody */
	const char *cache_path;
	u32 langs;			/* bit n: language n is wanted */
	u32 lang_wishes;		/* lang/options.h */
	u64 user_va_mask;
	bool command_lines;
	bool without_requests;		/* of which samples are; nobody is looked at for them */
	struct thread_labels *labels;	/* that are wanted of samples, borrowed; NULL: none */
	struct environment_names environment;
	u64 process_age_min_ns;		/* samples of younger processes are left out */
	u32 kinds;			/* bit n: samples of kind n are wanted; others are parts of some */
	u64 period_ns;			/* of the clock */
	size_t waiting_max_bytes;	/* of stacks that wait for something; 0: WAITING_BYTES_MAX (tracer/waiting.h) */
	u64 lanes_max;			/* parts of lanes that are kept, of all windows together */
};

int ingest_new(const struct ingest_options *options, u64 now_ns, struct ingest **ret_ingest);
/* The reader is freed before: it may hold jobs. */
void ingest_free(struct ingest *ingest);
DEFINE_CLEANUP(struct ingest *, ingest_free)

/* Other rules about processes, borrowed until the next; NULL: none. */
void ingest_choose(struct ingest *ingest, const struct process_choice *choice);

/* Who is sampled faster, and whether there are clocks for that: see tracer/left_out.h. */
void ingest_boost(struct ingest *ingest, const struct boost_list *boosts);
void ingest_clocks(struct ingest *ingest, bool has_clocks);

/* A record of the kernel half. */
void ingest_record(struct ingest *ingest, const void *record, size_t bytes);

/*
 * Applies events and the samples that waited for them, up to a time before which everything has arrived. True if it was
 * not done with that after INGEST_TURN_NS: the kernel's buffers are to be drained in between.
 */
bool ingest_settle(struct ingest *ingest, u64 until_ns);
#define INGEST_TURN_NS 50000000ull

/* One of so many ticks is taken: what is done now and then for each process is done as much less often. */
void ingest_set_pace(struct ingest *ingest, u32 every);

/* Nothing is sampled any more: what waits for files may wait for longer. */
void ingest_stop(struct ingest *ingest);

/* Do samples wait for files that are being read? */
bool ingest_waits_for_files(const struct ingest *ingest);

/* Were frames of runtimes new within the last seconds? What names them may be gone soon: more are to be read early. */
bool ingest_learns(const struct ingest *ingest, u64 now_ns);

/* Do samples or events wait to be settled? */
bool ingest_waits(const struct ingest *ingest);

/* Frees what has not been used for long. */
void ingest_sweep(struct ingest *ingest, u64 now_ns);

struct window *ingest_take_window(struct ingest *ingest, u64 now_ns);

u64 ingest_sample_count(const struct ingest *ingest);

/* By enum stack_end: samples since the start. */
const u64 *ingest_ends(const struct ingest *ingest);

/* Runtimes that were met and are not read (tracer/runtimes.h). */
u32 ingest_unread(const struct ingest *ingest, const struct unread **ret_unread);

/* By enum tracer_counter; those of the reader are left 0. */
void ingest_counters(const struct ingest *ingest, u64 ret_values[TRACER_COUNTER_COUNT]);

#endif
