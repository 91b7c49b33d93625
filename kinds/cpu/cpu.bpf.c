// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* A tick of a CPU's clock is a sample of what runs there. */
#include "perf_sample.h"

/*
 * The software clock's timer is moved on by whole periods: a tick off its grid
 * is late. Where all seem late it was the first that was, and the grid moves.
 */
#define LATE_RUN_MAX 16

struct tick_grid {
	u64 first_ns;
	u64 late_run;	/* ticks in a row that were late */
};
_Static_assert(sizeof(struct tick_grid) <= sizeof(((struct cpu_state *)0)->own), "fits what a kind may keep");

static __always_inline void check_grid(struct tick_grid *g, u64 now_ns)
{
	u64 period_ns = switches.period_ns, off;

	if (!period_ns)
		return;
	off = (now_ns - g->first_ns) % period_ns;
	if (!g->first_ns || period_ns - off < period_ns / 16 || g->late_run > LATE_RUN_MAX) {
		g->first_ns = now_ns;
		g->late_run = 0;
	} else if (off > period_ns / 2) {
		g->late_run++;
		count(COUNTER_LATE);
	} else {
		g->late_run = 0;
	}
}

static __always_inline u64 measure(struct unwind *u, struct cpu_state *state, void *ctx)
{
	if (!u->trace.clock_hz)
		check_grid((struct tick_grid *)state->own, u->trace.time_ns);
	return 1;
}
