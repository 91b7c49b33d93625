// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half for Java, on HotSpot. */
#include "walk.h"

#include "step.h"

static __always_inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	return hotspot_step(u);
}

WALKER(LANG_HOTSPOT)
