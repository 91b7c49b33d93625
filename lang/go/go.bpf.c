// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half for Go. */
#include "walk.h"

#include "step.h"

static __always_inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	return go_step(u, rule);
}

/* Looked at by the verifier alone, as walk_step() is. */
__noinline int go_begin(u32 unused)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (u && !u->trace.frame_count)
		go_push_labels(u);
	return 0;
}

WALKER_WITH(LANG_GO, go_begin(0))
