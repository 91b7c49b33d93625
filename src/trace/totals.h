/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread did in a window, to the nanosecond, as the kernel counts it: ran, waited for a CPU, waited for
 * something else. Samples of time only tell what each of these was spent on: their values are made to add up to them.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACE_TOTALS_H
#define TRACE_TOTALS_H

#include <stdbool.h>

#include "abi.h"
#include "base/arena.h"
#include "base/interner.h"
#include "kinds/waits.h"

struct window;

#define TOTALS_MAX 65536	/* threads in a window; more are counted */

enum total_class { TOTAL_RAN, TOTAL_WAITED_CPU, TOTAL_WAITED, TOTAL_CLASSES };

struct total {
	struct trace_record about;	/* its thread */
	u64 ns[TOTAL_CLASSES];
};

struct totals {
	struct arena arena;
	struct interner keys;		/* pid, tid */
	struct total *at;
	u32 count, cap;
	u64 lost;
};

struct totals_ops {
	u32 kinds;			/* bit n: kind n is wanted */
	/* Do samples of that process come only after the window? Then what they share stays for the next one. */
	bool (*is_late)(void *arg, u32 pid);
	/* Time of a thread of which no sample tells anything. */
	void (*add)(void *arg, const struct trace_record *record);
	void *arg;
};

void totals_init(struct totals *totals);
void totals_done(struct totals *totals);

/* What the kernel half tells: a record with TRACE_TOTALS. */
void totals_add(struct totals *totals, const struct trace_record *record);

/* Lets the samples of the window share them; what is left is for the next. */
void totals_share(struct totals *totals, struct window *window, const struct totals_ops *ops);

#endif
