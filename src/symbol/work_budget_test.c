// SPDX-License-Identifier: Apache-2.0
#include "symbol/work_budget.h"

#include <stdint.h>

#include "test.h"

#define SECOND 1000000000ull

TEST(work_budget_is_spent_overdrawn_and_paid_back)
{
	struct work_budget budget;

	work_budget_init(&budget, 2 * SECOND, 1000, 5 * SECOND);
	OK(work_budget_left(&budget));
	work_budget_spend(&budget, SECOND);
	OK(work_budget_refill(&budget, 5 * SECOND));
	work_budget_spend(&budget, SECOND + SECOND / 100);	/* 10 ms too much */
	OK(!work_budget_left(&budget));
	OK(!work_budget_refill(&budget, 14 * SECOND));		/* 9 of them are back */
	OK(work_budget_refill(&budget, 16 * SECOND));
}

TEST(work_budget_never_holds_more_than_it_can)
{
	struct work_budget budget;

	work_budget_init(&budget, SECOND, 1000000, 0);
	OK(work_budget_refill(&budget, UINT64_MAX));
	EQ(budget.left_ns, SECOND);
	work_budget_spend(&budget, UINT64_MAX);
	OK(!work_budget_left(&budget));
}
