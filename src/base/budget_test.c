// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"

#include <errno.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "test.h"

TEST(budget_refuses_what_does_not_fit_and_counts_it)
{
	struct budget_scope scope;
	struct budget_charge first, second;
	u64 refused = budget_refused(BUDGET_OTLP);

	budget_set_limit(1000);
	budget_begin(&scope, BUDGET_OTLP);
	budget_charge_init(&first);
	budget_charge_init(&second);
	EQ(budget_charge_to(&first, 500), 0);
	EQ(budget_charge_to(&second, 400), -ENOMEM);
	EQ(budget_charge_to(&second, 801), -E2BIG);
	EQ(budget_charge_to(&second, 300), 0);
	EQ(budget_used(BUDGET_OTLP), 800);
	EQ(budget_charge_to(&first, 0), 0);
	EQ(budget_charge_to(&second, 0), 0);
	budget_end(&scope);
	EQ(budget_used(BUDGET_OTLP), 0);
	EQ(budget_refused(BUDGET_OTLP) - refused, 2);
	budget_set_limit(UINT64_MAX);
}

TEST(budget_refuses_questions_before_senders)
{
	struct budget_scope scope;

	budget_set_limit(1000);
	budget_begin(&scope, BUDGET_QUESTIONS);
	EQ(budget_scratch(601), -E2BIG);
	budget_end(&scope);
	budget_begin(&scope, BUDGET_OTLP);
	EQ(budget_scratch(601), 0);
	budget_end(&scope);
	EQ(budget_used(BUDGET_OTLP), 0);
	budget_set_limit(UINT64_MAX);
}

static bool is_true(void *arg)
{
	return *(bool *)arg;
}

TEST(budget_gives_nothing_to_work_that_is_over)
{
	struct budget_scope scope;
	bool over = false;

	budget_begin(&scope, BUDGET_QUESTIONS);
	budget_set_end(&scope, is_true, &over);
	EQ(budget_check(), 0);
	EQ(budget_scratch(10), 0);
	over = true;
	EQ(budget_check(), -ECANCELED);
	EQ(budget_scratch(10), -ECANCELED);
	OK(!array_calloc(10, 10));
	budget_end(&scope);
	EQ(budget_check(), 0);
	EQ(budget_used(BUDGET_QUESTIONS), 0);
}

TEST(budget_counts_what_is_held_besides)
{
	struct budget_scope scope;

	budget_set_limit(1000);
	budget_lower(1000, 500);
	budget_begin(&scope, BUDGET_OTLP);
	EQ(budget_scratch(300), 0);
	EQ(budget_scratch(1), -E2BIG);
	budget_end(&scope);
	budget_lower(0, 0);
	budget_set_limit(UINT64_MAX);
}

TEST(budget_is_charged_for_buffers_arenas_and_arrays_of_a_scope)
{
	struct budget_scope scope;
	struct arena arena, free_one;
	uint32_t cap = 0, *array = NULL;
	struct buf buf;

	arena_init(&free_one, 1 << 20);
	OK(arena_alloc(&free_one, 5000));
	EQ(budget_used(BUDGET_OTLP), 0);
	arena_done(&free_one);

	budget_set_limit(100000);
	budget_begin(&scope, BUDGET_OTLP);
	arena_init(&arena, 1 << 20);
	OK(arena_alloc(&arena, 5000));
	buf_init(&buf, 1 << 20);
	buf_add(&buf, "x", 1);
	EQ(array_reserve(&array, &cap, 1000, sizeof(*array)), 0);
	OK(budget_used(BUDGET_OTLP) >= 5000 + 64 + 4000);
	OK(!arena_alloc(&arena, 90000));
	EQ(arena_err(&arena), -E2BIG);
	EQ(buf_reserve(&buf, 79000), -E2BIG);
	budget_end(&scope);
	OK(budget_used(BUDGET_OTLP) >= 5000 + 64);
	OK(budget_used(BUDGET_OTLP) < 5000 + 64 + 4000);
	free(array);
	buf_done(&buf);
	arena_done(&arena);
	EQ(budget_used(BUDGET_OTLP), 0);
	budget_set_limit(UINT64_MAX);
}
