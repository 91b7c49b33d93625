// SPDX-License-Identifier: Apache-2.0
#include "agent/governor.h"

#include "base/clock.h"
#include "test.h"

#define LIMIT 0.01

/* What is used by time, in thousandths of a CPU, at each step. */
struct load {
	u64 now_ns, used_ns, service_ns;
	u32 service;		/* at all of them */
	u32 by_step[GOVERNOR_STEP_COUNT];
};

/* So many seconds of it; the most that a minute used, in CPUs. */
static double run(struct governor *g, struct load *load, u32 seconds)
{
	double most = 0;

	for (u32 i = 0; i < seconds; i++) {
		load->now_ns += SECOND_NS;
		load->used_ns += load->by_step[governor_step(g)] * (SECOND_NS / 1000);
		load->service_ns += load->service * (SECOND_NS / 1000);
		(void)governor_note(g, &(struct governor_note){ load->now_ns, load->used_ns, load->service_ns });
		most = governor_used(g) > most ? governor_used(g) : most;
	}
	return most;
}

TEST(governor_leaves_an_ordinary_host_alone)
{
	struct load load = { .now_ns = SECOND_NS, .by_step = { 7, 7, 7, 7, 7, 7, 7 } };
	struct governor g;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	load.used_ns = 5 * SECOND_NS;	/* of the start */
	(void)run(&g, &load, 1000);
	EQ(g.step, GOVERNOR_ALL);
	OK(governor_used(&g) > 0.006 && governor_used(&g) < 0.008);
}

TEST(governor_goes_down_until_it_is_enough_and_no_further)
{
	struct load load = { .now_ns = SECOND_NS, .by_step = { 30, 20, 16, 15, 9, 5, 3 } };
	struct governor g;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 300);
	EQ(g.step, GOVERNOR_HALF);
	OK(run(&g, &load, 600) <= LIMIT * 1.2);
	EQ(g.step, GOVERNOR_HALF);
}

TEST(governor_holds_a_minute_in_a_storm)
{
	struct load load = { .now_ns = SECOND_NS, .by_step = { 5, 5, 5, 5, 5, 5, 5 } };
	struct governor g;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 200);
	for (u32 i = 0; i < GOVERNOR_STEP_COUNT; i++)
		load.by_step[i] = 16 >> i;
	OK(run(&g, &load, 300) <= LIMIT * 1.2);
	OK(g.step > GOVERNOR_ALL);
}

TEST(governor_rests_where_no_step_is_enough)
{
	struct load load = { .now_ns = SECOND_NS };
	struct governor g;
	u32 rested = 0;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 120);
	for (u32 i = 0; i < GOVERNOR_REST; i++)
		load.by_step[i] = 60;
	load.by_step[GOVERNOR_REST] = 1;
	for (u32 i = 0; i < 600; i++) {
		OK(run(&g, &load, 1) <= LIMIT * 1.2);	/* what a second adds before it is seen */
		rested += governor_step(&g) == GOVERNOR_REST;
	}
	OK(rested > 300 && rested < 590);	/* what there is it uses */
	while (governor_step(&g) != GOVERNOR_REST)
		(void)run(&g, &load, 1);
	EQ(governor_due_ns(&g), SECOND_NS / 5);	/* a rest is to cost as little as can be */
	for (u32 i = 0; i < GOVERNOR_REST; i++)
		load.by_step[i] = 2;
	(void)run(&g, &load, 700);
	EQ(governor_step(&g), GOVERNOR_ALL);
}

TEST(governor_wants_to_know_sooner_where_little_is_left)
{
	struct load load = { .now_ns = SECOND_NS, .by_step = { 2 } };
	struct governor g;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 200);
	EQ(governor_due_ns(&g), SECOND_NS / 5);
	load.by_step[0] = 8;
	(void)run(&g, &load, 60);
	EQ(governor_due_ns(&g), SECOND_NS / 20);
}

TEST(governor_takes_all_up_again_when_there_is_room)
{
	struct load load = { .now_ns = SECOND_NS, .by_step = { 50, 50, 50, 50, 50, 50, 50, 50, 50 } };
	struct governor g;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 300);
	EQ(g.step, GOVERNOR_REST - 1);
	for (u32 i = 0; i < GOVERNOR_STEP_COUNT; i++)
		load.by_step[i] = 2;
	(void)run(&g, &load, 90);
	OK(g.step >= GOVERNOR_QUARTER);
	(void)run(&g, &load, 600);
	EQ(g.step, GOVERNOR_ALL);
}

TEST(governor_lets_nobody_who_asks_the_service_stop_sampling)
{
	struct load load = { .now_ns = SECOND_NS, .service = 900, .by_step = { 4, 4, 4, 4, 4, 4, 4 } };
	struct governor g;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 1000);
	EQ(g.step, GOVERNOR_ALL);
	OK(governor_used(&g) > 0.9);	/* but it is told */
	load.by_step[0] = 6;
	(void)run(&g, &load, 200);
	OK(g.step > GOVERNOR_ALL);
}

TEST(governor_goes_down_by_two_where_it_is_far_off)
{
	struct load load = { .now_ns = SECOND_NS };
	struct governor g;

	governor_init(&g, LIMIT, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 120);
	for (u32 i = 0; i < GOVERNOR_STEP_COUNT; i++)
		load.by_step[i] = 100 >> i;
	(void)run(&g, &load, 8);
	EQ(g.step, GOVERNOR_NAMES);
	(void)run(&g, &load, 240);
	EQ(g.step, GOVERNOR_HALF);	/* which is enough */
}

TEST(governor_has_a_text_for_each_step_and_for_no_other)
{
	for (u64 i = 0; i < GOVERNOR_STEP_COUNT; i++)
		OK(*governor_text(i));
	STREQ(governor_text(GOVERNOR_STEP_COUNT), "");
	STREQ(governor_text(UINT64_MAX), "");
}

TEST(governor_without_a_limit_only_measures)
{
	struct load load = { .now_ns = SECOND_NS, .by_step = { 500, 500, 500, 500, 500, 500, 500 } };
	struct governor g;

	governor_init(&g, 0, GOVERNOR_SPAN_NS, load.now_ns);
	(void)run(&g, &load, 300);
	EQ(g.step, GOVERNOR_ALL);
	OK(governor_used(&g) > 0.49);
}

TEST(governor_knows_a_fair_limit)
{
	OK(governor_default(2) == 0.01);
	OK(governor_default(16) == 0.01);
	OK(governor_default(64) > 0.039 && governor_default(64) < 0.041);
}
