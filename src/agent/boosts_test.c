// SPDX-License-Identifier: Apache-2.0
#include "agent/boosts.h"

#include <stdint.h>
#include <string.h>

#include "test.h"

#define SECOND 1000000000ull

static struct boost of_pid(u32 id, u32 pid)
{
	return (struct boost){ .id = id, .hz = 200, .seconds = 10, .pid = pid };
}

static enum boost_outcome start(struct boosts *b, struct boost boost, u64 now_ns)
{
	struct boost_event event;
	enum boost_outcome outcome = boosts_start(b, &boost, 20, false, now_ns, &event);

	EQ(event.id, boost.id);
	EQ(event.outcome, outcome);
	return outcome;
}

TEST(boosts_end_by_themselves)
{
	struct boosts b = { 0 };
	struct boost_event event;

	EQ(start(&b, of_pid(1, 10), 5 * SECOND), BOOST_RUNS);
	EQ(boosts_due_ns(&b), 15 * SECOND);
	OK(!boosts_expire(&b, 15 * SECOND - 1, &event));
	OK(boosts_expire(&b, 15 * SECOND, &event));
	EQ(event.id, 1);
	EQ(event.outcome, BOOST_OVER);
	EQ(b.list.count, 0);
	EQ(boosts_due_ns(&b), UINT64_MAX);
}

TEST(boosts_are_few_and_of_different_processes)
{
	struct boosts b = { 0 };
	struct boost_event event;

	EQ(start(&b, of_pid(1, 10), SECOND), BOOST_RUNS);
	EQ(start(&b, of_pid(2, 10), SECOND), BOOST_SAME);
	EQ(start(&b, of_pid(1, 11), SECOND), BOOST_SAME);	/* its number is taken */
	EQ(start(&b, of_pid(3, 11), SECOND), BOOST_RUNS);
	EQ(start(&b, of_pid(4, 12), SECOND), BOOST_RUNS);
	EQ(start(&b, of_pid(5, 13), SECOND), BOOST_RUNS);
	EQ(start(&b, of_pid(6, 14), SECOND), BOOST_FULL);
	OK(boosts_stop(&b, 3, BOOST_STOPPED, &event));
	EQ(event.outcome, BOOST_STOPPED);
	OK(!boosts_stop(&b, 3, BOOST_STOPPED, &event));
	EQ(b.list.at[1].pid, 12);
	EQ(start(&b, of_pid(6, 14), SECOND), BOOST_RUNS);
}

TEST(boosts_that_come_without_end_are_refused)
{
	struct boosts b = { 0 };
	struct boost_event event;

	for (u32 i = 0; i < BOOST_CHANGES_MAX; i++) {
		EQ(start(&b, of_pid(i + 1, 10), SECOND + i), BOOST_RUNS);
		OK(boosts_stop(&b, i + 1, BOOST_STOPPED, &event));
	}
	EQ(start(&b, of_pid(99, 10), 2 * SECOND), BOOST_SOON);
	EQ(start(&b, of_pid(99, 10), 11 * SECOND), BOOST_RUNS);
}

TEST(boosts_are_refused_in_words)
{
	struct boosts b = { 0 };
	struct boost_event event;
	struct boost boost = of_pid(1, 10);

	EQ(boosts_start(&b, &boost, 20, true, SECOND, &event), BOOST_TIGHT);
	boost.hz = 20;
	EQ(boosts_start(&b, &boost, 20, false, SECOND, &event), BOOST_SLOW);
	boost.hz = 1000;
	EQ(boosts_start(&b, &boost, 20, false, SECOND, &event), BOOST_REFUSED);
	EQ(b.list.count, 0);
	OK(strstr(boost_outcome_text(BOOST_TIGHT), "budget"));
	STREQ(boost_outcome_text(BOOST_OUTCOME_COUNT), "");
}
