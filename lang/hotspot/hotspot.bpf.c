// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half for Java, on HotSpot. */
#include "walk.h"

#if REG_RA == 16
#include "step.h"
#else
static inline int hotspot_step(struct unwind *u)
{
	return STEP_NATIVE;	/* arm64 is left alone: hotspot_file.c does not recognise its JVM */
}
#endif

static __always_inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	return hotspot_step(u);
}

WALKER(LANG_HOTSPOT)
