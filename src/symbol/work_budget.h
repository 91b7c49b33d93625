/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much time may be spent on work that can wait: a store that starts full,
 * refills slowly, and may be overdrawn by the last piece of work, which then
 * has to be paid back before the next.
 *
 * One thread owns a budget. The clock is the caller's, and only rises.
 */
#ifndef SYMBOL_WORK_BUDGET_H
#define SYMBOL_WORK_BUDGET_H

#include <stdbool.h>

#include "base/types.h"

struct work_budget {
	s64 left_ns;
	s64 full_ns;
	u32 refill_ppm;		/* of the time that passes */
	u64 then_ns;
};

void work_budget_init(struct work_budget *budget, s64 full_ns, u32 refill_ppm, u64 now_ns);

/* Adds what has come in since; true if there is something to spend. */
bool work_budget_refill(struct work_budget *budget, u64 now_ns);

void work_budget_spend(struct work_budget *budget, u64 ns);

static inline bool work_budget_left(const struct work_budget *budget)
{
	return budget->left_ns > 0;
}

#endif
