// SPDX-License-Identifier: Apache-2.0
#include "symbol/work_budget.h"

#define PASSED_MAX_NS ((u64)86400 * 1000000000)

void work_budget_init(struct work_budget *budget, s64 full_ns, u32 refill_ppm, u64 now_ns)
{
	*budget = (struct work_budget){
		.left_ns = full_ns, .full_ns = full_ns, .refill_ppm = refill_ppm, .then_ns = now_ns,
	};
}

bool work_budget_refill(struct work_budget *budget, u64 now_ns)
{
	u64 passed_ns = now_ns - budget->then_ns;

	if (passed_ns > PASSED_MAX_NS)
		passed_ns = PASSED_MAX_NS;
	budget->then_ns = now_ns;
	budget->left_ns += (s64)(passed_ns / 1000 * budget->refill_ppm / 1000);
	if (budget->left_ns > budget->full_ns)
		budget->left_ns = budget->full_ns;
	return work_budget_left(budget);
}

void work_budget_spend(struct work_budget *budget, u64 ns)
{
	budget->left_ns -= (s64)(ns < PASSED_MAX_NS ? ns : PASSED_MAX_NS);
}
