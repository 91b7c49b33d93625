// SPDX-License-Identifier: Apache-2.0
#include "base/growth.h"

#include <stdint.h>

#include "base/budget.h"
#include "test.h"

#define MIB (1ull << 20)
#define NOW GROWTH_PERIOD_NS

static void begin(void)
{
	budget_set_limit(64 * MIB);
	growth_reset();
}

static void end(void)
{
	growth_reset();
	budget_set_limit(UINT64_MAX);
}

TEST(growth_refuses_who_has_half_and_nobody_else)
{
	begin();
	growth_note(1, growth_most() / 2 + 1, NOW);
	EQ(growth_allows(1, NOW), false);
	EQ(growth_allows(2, NOW), true);
	end();
}

TEST(growth_lets_a_sender_come_again_later)
{
	begin();
	growth_note(1, growth_most() / 2 + MIB, NOW);
	EQ(growth_allows(1, NOW), false);
	EQ(growth_allows(1, NOW + GROWTH_PERIOD_NS / 4), true);
	end();
}

TEST(growth_refuses_the_greedy_when_all_have_too_much)
{
	begin();
	for (u64 sender = 1; sender <= 40; sender++)
		growth_note(sender, growth_most() / 30, NOW);
	growth_note(100, 1, NOW);
	EQ(growth_allows(7, NOW), false);
	EQ(growth_allows(100, NOW), true);
	EQ(growth_allows(101, NOW), true);
	end();
}

TEST(growth_never_refuses_this_machine)
{
	begin();
	growth_note(GROWTH_LOCAL, 1000 * MIB, NOW);
	growth_note(1, 1000 * MIB, NOW);
	EQ(growth_allows(GROWTH_LOCAL, NOW), true);
	end();
}

TEST(growth_has_no_limit_without_a_budget)
{
	growth_note(1, 1000 * MIB, NOW);
	EQ(growth_allows(1, NOW), true);
}
