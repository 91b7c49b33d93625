// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* A page fault is a sample of the code that touched the page; of every so many, one that counts for all. */
#include "perf_sample.h"

static __always_inline u64 measure(struct unwind *u, struct cpu_state *state, void *ctx)
{
	return ((struct bpf_perf_event_data *)ctx)->sample_period;
}
