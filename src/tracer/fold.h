/* SPDX-License-Identifier: Apache-2.0 */
/* A sample whose frames are known goes into the window: of which process, and of which kinds. The tracer's thread. */
#ifndef TRACER_FOLD_H
#define TRACER_FOLD_H

#include <stdbool.h>

#include "abi.h"
#include "trace/pairs.h"

struct modules;
struct process;
struct window;
struct window_frame;

struct fold_options {
	u32 kinds;		/* bit n: samples of kind n are wanted; others are only parts of some */
	u64 period_ns;		/* of the clock */
	struct modules *modules;
	u64 lanes_left;		/* parts of lanes that may still come */
	struct pairs pairs;	/* of probes, that are open */
	u64 lanes_lost;		/* records of them that did not fit */
};

/* The index in the window of the process that a record is of; p NULL: of one that is not known. */
u32 fold_process(struct window *window, const struct process *p, const struct trace_record *record);

/* Adds it, with frames of one word each. */
void fold_sample(struct window *window, struct fold_options *options, u32 process,
		 const struct trace_record *record, const u64 *user, u32 user_count, u8 end);

/* Adds what a record of the kind `lanes` tells. */
void fold_lane(struct window *window, struct fold_options *options, u32 process, const struct trace_record *record);

/* True if the record is no sample, but the value of one that was begun. */
bool fold_end(struct window *window, struct fold_options *options, const struct trace_record *record);

/* A frame of a runtime whose process or program is not known any more. */
struct window_frame *fold_nameless(void);

#endif
