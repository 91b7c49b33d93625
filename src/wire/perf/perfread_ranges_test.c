// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_ranges.h"

#include "test.h"

static struct perfread_ranges_budget budget;

static void put(struct perfread_ranges **ranges, u64 start, u64 end, u32 region)
{
	struct perfread_range range = { .start_va = start, .end_va = end, .region = region };

	EQ(perfread_ranges_put(ranges, &budget, &range), 0);
}

static u32 region_at(const struct perfread_ranges *ranges, u64 va)
{
	const struct perfread_range *range = perfread_ranges_find(ranges, va);

	return range ? range->region : 0;
}

TEST(perfread_ranges_puts_the_newest_over_the_others)
{
	struct perfread_ranges *r = perfread_ranges_new();

	put(&r, 10, 20, 1);
	put(&r, 30, 40, 2);
	put(&r, 5, 8, 3);
	EQ(region_at(r, 4), 0);
	EQ(region_at(r, 5), 3);
	EQ(region_at(r, 8), 0);
	EQ(region_at(r, 19), 1);
	EQ(region_at(r, 20), 0);
	/* Into the middle of one, then over the ends of two and all of a third. */
	put(&r, 12, 14, 4);
	EQ(region_at(r, 11), 1);
	EQ(region_at(r, 12), 4);
	EQ(region_at(r, 14), 1);
	EQ(r->count, 5);
	put(&r, 7, 35, 5);
	EQ(r->count, 3);
	EQ(region_at(r, 6), 3);
	EQ(region_at(r, 7), 5);
	EQ(region_at(r, 34), 5);
	EQ(region_at(r, 35), 2);
	EQ(budget.held, 3);
	perfread_ranges_unref(r, &budget);
	EQ(budget.held, 0);
}

TEST(perfread_ranges_are_shared_until_one_changes)
{
	struct perfread_ranges *parent = perfread_ranges_new(), *child;

	put(&parent, 10, 20, 1);
	child = perfread_ranges_ref(parent);
	put(&child, 10, 20, 2);
	OK(child != parent);
	EQ(region_at(parent, 15), 1);
	EQ(region_at(child, 15), 2);
	perfread_ranges_unref(parent, &budget);
	put(&child, 30, 40, 3);
	EQ(budget.held, 2);
	EQ(budget.moved, 1);
	perfread_ranges_unref(child, &budget);
}

TEST(perfread_ranges_counts_what_does_not_fit)
{
	struct perfread_ranges *r = perfread_ranges_new();

	budget.held = PERFREAD_RANGES_MAX;
	put(&r, 10, 20, 1);
	EQ(budget.dropped, 1);
	EQ(region_at(r, 10), 0);
	budget.held = 0;
	budget.moved = PERFREAD_RANGES_MOVED_MAX + 1;
	put(&r, 10, 20, 1);
	EQ(budget.dropped, 2);
	EQ(region_at(r, 10), 0);
	/* Nonsense is no range. */
	budget.moved = 0;
	put(&r, 20, 10, 1);
	EQ(r->count, 0);
	perfread_ranges_unref(r, &budget);
}
