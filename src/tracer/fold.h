/* SPDX-License-Identifier: Apache-2.0 */
/* A sample whose frames are known goes into the window: of which process, and of which kinds. The tracer's thread. */
#ifndef TRACER_FOLD_H
#define TRACER_FOLD_H

#include "abi.h"

struct modules;
struct process;
struct window;
struct window_frame;

struct fold_options {
	u32 kinds;		/* bit n: samples of kind n are wanted; others are only parts of some */
	u64 period_ns;		/* of the clock */
	struct modules *modules;
};

/* The index in the window of the process that a record is of; p NULL: of one that is not known. */
u32 fold_process(struct window *window, const struct process *p, const struct trace_record *record);

/* Adds it, with frames of one word each. */
void fold_sample(struct window *window, const struct fold_options *options, u32 process,
		 const struct trace_record *record, const u64 *user, u32 user_count, u8 end);

/* A frame of a runtime whose process or program is not known any more. */
struct window_frame *fold_nameless(void);

#endif
