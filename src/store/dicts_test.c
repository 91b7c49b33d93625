// SPDX-License-Identifier: Apache-2.0
#include "store/dicts.h"

#include <stdint.h>
#include <stdio.h>

#include "analysis/calltree.h"
#include "analysis/narrow.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/growth.h"
#include "profile/profile.h"
#include "store/scratch_test.h"
#include "store/sqlite.h"
#include "test.h"

#define MIB (1u << 20)
#define LIMIT (8 * MIB)		/* two dictionaries of 2 MiB */
#define NOW_NS (1800000000 * SECOND_NS)
#define STACKS 1000
#define SENDER 77

/* Stacks that no other round has, but for their root. */
static void add_round(struct store *store, u32 round)
{
	struct profile *p = profile_new();
	struct keyvalue host = { STR("host.name"), { .kind = ANY_STRING, .string = STR("alpha") } };
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &host, 1)));
	u64 time_ns = NOW_NS + round * 60 * SECOND_NS;

	for (u32 i = 0; i < STACKS; i++) {
		struct profile_sample *sample = profile_add_sample(p, set);
		u32 locations[2];

		for (u32 d = 0; d < 2; d++) {
			struct profile_line line = { 0 };
			char name[64];

			snprintf(name, sizeof(name), d ? "main" : "a_function_of_round_%u_%u", round, i);
			line.function = profile_add_function(p, &(struct profile_function){
				.name = profile_add_cstring(p, name) });
			locations[d] = profile_add_location(p, &(struct profile_location){ .lines = &line,
											   .line_count = 1 });
		}
		sample->stack = profile_add_stack(p, locations, 2);
		sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
		sample->time_count = 1;
	}
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, SENDER, time_ns), 0);
	profile_free(p);
}

static void check_profile(struct store *store, const struct store_selection *all, u32 rounds)
{
	struct profile *profile = NULL;
	struct buf why;

	buf_init(&why, 256);
	EQ(store_profile(store, all, &(struct narrow){ 0 }, &profile, &why), 0);
	EQ(profile_samples(profile), rounds * STACKS);
	EQ(profile->stacks.count, rounds * STACKS + 1);
	profile_free(profile);
	buf_done(&why);
}

static void check_answer(struct store *store, u32 rounds)
{
	struct store_selection all = { .from_ns = 0, .to_ns = NOW_NS * 2 };
	struct calltree *flame = NULL;
	u32 leaves = 0;

	EQ(store_flame(store, &all, STORE_LABEL_COUNT, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, (s64)rounds * STACKS);
	for (u32 i = 0; i < flame->nodes.count; i++)
		leaves += calltree_nodes(flame)[i].self == 1;
	EQ(leaves, rounds * STACKS);
	calltree_free(flame);
	EQ(store_flame(store, &all, STORE_HOST, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, (s64)rounds * STACKS);
	calltree_free(flame);
	EQ(store_flame_largest(store, &all, 100, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, (s64)rounds * STACKS);
	calltree_free(flame);
	check_profile(store, &all, rounds);
}

TEST(dicts_stay_within_the_budget_and_answers_are_whole)
{
	struct store *store;
	struct store_stats stats;
	u32 rounds = 40;

	budget_set_limit(LIMIT);
	growth_reset();
	store = scratch_store();
	for (u32 round = 0; round < rounds; round++) {
		add_round(store, round);
		OK(budget_used(BUDGET_STORE) <= LIMIT / 2);
	}
	EQ(store_stats(store, &stats), 0);
	OK(stats.epochs >= 4);
	check_answer(store, rounds);
	OK(budget_used(BUDGET_STORE) <= LIMIT / 2);
	store_close(store);
	EQ(budget_used(BUDGET_STORE), 0);
	store = scratch_store();
	OK(budget_used(BUDGET_STORE) <= LIMIT / 4);
	check_answer(store, rounds);
	store_close(store);
	budget_set_limit(UINT64_MAX);
}

TEST(dicts_note_what_a_sender_brings_that_is_new)
{
	struct store *store;

	budget_set_limit(LIMIT);
	growth_reset();
	store = scratch_store();
	add_round(store, 0);
	OK(growth_allows(SENDER, monotonic_ns()));
	for (u32 i = 0; i < 20; i++)
		add_round(store, 0);
	OK(growth_allows(SENDER, monotonic_ns()));
	for (u32 round = 0; round < 20; round++)
		add_round(store, round);
	OK(!growth_allows(SENDER, monotonic_ns()));
	OK(growth_allows(SENDER + 1, monotonic_ns()));
	store_close(store);
	growth_reset();
	budget_set_limit(UINT64_MAX);
}
