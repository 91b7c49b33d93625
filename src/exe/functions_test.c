// SPDX-License-Identifier: Apache-2.0
#include "exe/functions.h"

#include "base/cleanup.h"
#include "test.h"

/* Adds [start, end) with that ref. */
static void add(struct functions *f, u64 start, u64 end, u32 ref)
{
	functions_add(f, start, end, FUNCTION_EH, ref);
}

static void check(const struct functions *f, const char *want)
{
	char got[256] = "";
	int len = 0;

	for (u32 i = 0; i < f->count; i++)
		len += snprintf(got + len, sizeof(got) - len, "%llu-%llu:%u ", (u64)f->at[i].start_ea,
				function_end(&f->at[i]), f->at[i].ref);
	STREQ(got, want);
}

TEST(functions_settle_cuts_overlaps)
{
	_cleanup_(functions_done) struct functions f = { 0 };

	add(&f, 50, 60, 1);
	add(&f, 10, 30, 2);
	add(&f, 20, 25, 3);
	add(&f, 50, 70, 4);
	add(&f, 5, 5, 5);
	functions_settle(&f);
	check(&f, "10-20:2 20-25:3 50-70:4 ");
}

TEST(functions_fill_adds_to_gaps_only)
{
	_cleanup_(functions_done) struct functions f = { 0 };
	struct functions others = { 0 };

	add(&f, 10, 20, 1);
	add(&f, 30, 40, 2);
	add(&f, 40, 50, 3);
	add(&others, 0, 5, 7);
	add(&others, 5, 12, 8);
	add(&others, 15, 60, 9);
	functions_settle(&f);
	functions_settle(&others);
	functions_fill(&f, &others);
	check(&f, "0-5:7 5-10:8 10-20:1 20-30:9 30-40:2 40-50:3 50-60:9 ");
	EQ(others.count, 0);
}

TEST(functions_overlay_takes_the_place_of_others)
{
	_cleanup_(functions_done) struct functions f = { 0 };
	struct functions others = { 0 };

	add(&f, 10, 20, 1);
	add(&f, 20, 40, 2);
	functions_settle(&f);
	functions_overlay(&f, &others);
	check(&f, "10-20:1 20-40:2 ");
	add(&others, 19, 20, 7);
	add(&others, 20, 30, 8);
	functions_overlay(&f, &others);
	check(&f, "10-19:1 19-20:7 20-30:8 30-40:2 ");
	EQ(others.count, 0);
}

TEST(functions_are_found_by_address)
{
	_cleanup_(functions_done) struct functions f = { 0 };

	add(&f, 10, 20, 1);
	add(&f, 30, 40, 2);
	OK(!functions_find(&f, 9));
	EQ(functions_find(&f, 10)->ref, 1);
	EQ(functions_find(&f, 19)->ref, 1);
	OK(!functions_find(&f, 20));
	EQ(functions_from(&f, 20), 1);
	EQ(functions_find(&f, 39)->ref, 2);
	OK(!functions_find(&f, 40));
	EQ(functions_from(&f, 40), 2);
}

TEST(functions_with_impossible_addresses_are_dropped)
{
	_cleanup_(functions_done) struct functions f = { 0 };

	add(&f, 20, 10, 1);
	add(&f, 0, 1ull << 33, 1);
	add(&f, 1ull << 48, (1ull << 48) + 1, 1);
	functions_add(&f, 0, 1, FUNCTION_EH, 1ull << 32);
	EQ(f.count, 0);
	EQ(f.dropped_count, 4);
}
