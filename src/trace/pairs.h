/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples whose value comes later: of a pair of probes the start is folded into the window when it happens, and has no
 * value until its end does (kinds/probe). One that is still open when its window ends moves on to the next one. An end
 * may also come first: the start's stack waits for its process's files.
 *
 * A start is known by its kind, time and CPU. Bounded: the oldest in a set make room, and are counted.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACE_PAIRS_H
#define TRACE_PAIRS_H

#include <stdbool.h>

#include "abi.h"

struct window;

#define PAIRS_SETS 2048
#define PAIRS_WAYS 8

struct pair {
	u64 time_ns;		/* 0: nothing is here */
	u64 value;
	u32 time;		/* its number in the window's times */
	u16 cpu;
	u8 kind;
	bool has_ended;		/* the value is known, the sample is not there yet */
};

struct pairs {
	struct pair *at;	/* PAIRS_SETS of PAIRS_WAYS; NULL: there was none yet */
	u64 open, evicted;
};

void pairs_done(struct pairs *pairs);

/* The start that was just added to the window, as its last time. */
void pairs_begin(struct pairs *pairs, const struct trace_record *record, struct window *window);

/* The value of one that was begun. */
void pairs_end(struct pairs *pairs, const struct trace_record *record, struct window *window);

/* Those that are open leave the window, which is full, for the next one. */
void pairs_move(struct pairs *pairs, struct window *full, struct window *next);

#endif
