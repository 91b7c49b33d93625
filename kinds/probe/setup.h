/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What a probe is to the kernel half: constants of its object, written before it is loaded (PROBE_SECTION), so that the
 * verifier leaves out what this probe does not do. Written by src/tracer/probe_setup.c, read by probe.bpf.c.
 */
#ifndef KINDS_PROBE_SETUP_H
#define KINDS_PROBE_SETUP_H

#include "abi.h"

#define PROBE_SECTION ".rodata.probe"
#define PROBE_VALUE_MAX (1ull << 42)	/* more is no size and no time, but a mistake: -1, or what nobody has set */
#define PROBE_KEYS_MAX 2
#define PROBE_PLACES_MAX 16		/* of one USDT probe, which may be inlined */

/* Where the program of a side runs, and so what its context is. */
enum probe_hook {
	PROBE_HOOK_NONE,
	PROBE_HOOK_USER,	/* user code, at an instruction: its registers */
	PROBE_HOOK_RETURN,	/* ... where a function has returned to */
	PROBE_HOOK_KERNEL,	/* kernel code: its registers */
	PROBE_HOOK_FIELDS,	/* a tracepoint: its fields */
};

enum probe_from {
	PROBE_FROM_NONE,
	PROBE_FROM_NUMBER,	/* offset is the value */
	PROBE_FROM_CONTEXT,	/* bytes at offset in the context */
	PROBE_FROM_MEMORY,	/* bytes of user memory, at offset from what the 8 bytes at `base` in the context say */
	PROBE_FROM_THREAD,	/* its number, and that of its process */
	PROBE_FROM_TIME,	/* between the two sides */
};

/* A number that a side can take. */
struct probe_read {
	u8 from;		/* enum probe_from */
	u8 bytes;		/* 1, 2, 4, 8 */
	u8 is_signed;
	u8 pad;
	u32 base;
	s64 offset;
};

enum probe_test { PROBE_ANY, PROBE_EQUAL, PROBE_OTHER, PROBE_LESS, PROBE_MORE, PROBE_HAS_BITS };

struct probe_side {
	u32 hook;		/* enum probe_hook */
	u32 test;		/* enum probe_test: events that pass it count */
	s64 against;
	struct probe_read tested;
	struct probe_read key[PROBE_KEYS_MAX];	/* what both sides of a pair have in common */
	struct probe_read value;	/* PROBE_FROM_NONE: it is the other side's, or each event is 1 */
};

struct probe_setup {
	struct probe_side start, end;	/* end.hook PROBE_HOOK_NONE: there is no second side */
	/* USDT: where each place has its value, by the cookie it was attached with; count 0: all have start.value. */
	struct probe_read place_value[PROBE_PLACES_MAX];
	u32 place_count;
	u32 walks_max;		/* stacks a second on each CPU */
};

/* What a CPU keeps (bpf/tables.h, cpu_state.own). */
struct probe_turn {
	u64 since_ns;		/* when this second began */
	u64 events, sum;	/* in it: how many, and their values */
	u64 walks;		/* ... since strata were last changed */
	u64 stratum;		/* 0: each event is a sample */
	u64 point, left;	/* where in its stratum the next point lies, and how far it is */
	u64 owed;		/* what came since the last sample: user space counts what is left here */
};

/* What a record of a pair's side says in cpu_wait, which it has no other use for. */
#define PAIR_BEGUN 1	/* the stack of the start; the value comes later */
#define PAIR_ENDED 2	/* no sample: the value of the one that was begun at this time on this CPU */

#endif
