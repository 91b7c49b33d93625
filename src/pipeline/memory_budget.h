/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory senders and questions may take (base/budget.h) in this process: a quarter of what the machine or its
 * control group has, within bounds, unless said otherwise. Tells the metrics what is used and how often there was none.
 */
#ifndef PIPELINE_MEMORY_BUDGET_H
#define PIPELINE_MEMORY_BUDGET_H

#include "base/types.h"

struct metrics;

#define MEMORY_BUDGET_MIN ((u64)8 << 20)
#define MEMORY_BUDGET_MAX ((u64)256 << 20)

/* bytes 0: the default. */
void memory_budget_set(u64 bytes);
int memory_budget_tell(struct metrics *metrics);

#endif
