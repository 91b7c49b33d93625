// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory_budget.h"

#include "base/budget.h"
#include "base/metrics.h"
#include "proc/memory.h"

static u64 default_bytes(void)
{
	u64 allowed, part;

	if (memory_allowed("", &allowed) < 0)
		return MEMORY_BUDGET_MIN;
	part = allowed / (allowed < MEMORY_BUDGET_MAX ? 8 : 4);	/* a small host needs most of it for sampling */
	return part < MEMORY_BUDGET_MIN ? MEMORY_BUDGET_MIN : part > MEMORY_BUDGET_MAX ? MEMORY_BUDGET_MAX : part;
}

void memory_budget_set(u64 bytes)
{
	budget_set_limit(bytes ? bytes : default_bytes());
}

static void tell(void *arg, struct metrics_out *out)
{
	(void)arg;
	metrics_put(out, METRIC_GAUGE, "wick_memory_budget_bytes",
		    "Memory that senders and questions may take together", NULL, 0, (double)budget_limit());
	for (int i = BUDGET_NOBODY + 1; i < BUDGET_ACCOUNT_COUNT; i++) {
		struct metric_label label = { "account", budget_account_name(i) };

		metrics_put(out, METRIC_GAUGE, "wick_memory_used_bytes", "Memory of the budget that is taken",
			    &label, 1, (double)budget_used(i));
		metrics_put(out, METRIC_COUNTER, "wick_memory_refused_total",
			    "How often memory was asked for that the budget had not", &label, 1,
			    (double)budget_refused(i));
	}
}

int memory_budget_tell(struct metrics *metrics)
{
	return metrics_add_source(metrics, tell, NULL);
}
