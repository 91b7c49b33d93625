// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The kernel half for JavaScript, on V8. */
#include "walk.h"

#if REG_RA == 16
#include "step.h"
#else
static inline int v8_step(struct unwind *u)
{
	return STEP_NATIVE;	/* arm64 is left alone: v8_file.c does not recognise it */
}
#endif

static __always_inline int runtime_step(struct unwind *u, const struct unwind_rule *rule)
{
	return v8_step(u);
}

WALKER(LANG_V8)
