// SPDX-License-Identifier: Apache-2.0
#include "analysis/queue_waits.h"

#include "base/clock.h"
#include "test.h"

#define US (SECOND_NS / 1000000)
#define START (1000 * SECOND_NS)
#define END (START + SECOND_NS)

static struct lane_moment moment(u64 at_us, u64 length_us, enum wait_reason reason, u32 group)
{
	return (struct lane_moment){ .at_ns = START + at_us * US, .length_ns = length_us * US, .reason = reason,
				     .group = group };
}

TEST(queue_waits_count_by_when_how_long_and_whose)
{
	struct lane_moment moments[] = { moment(900000, 20, REASON_RUN_QUEUE, 0), moment(800000, 5000, REASON_FUTEX, 0),
					 moment(150000, 3000, REASON_RUN_QUEUE, 1) };
	struct queue_waits w;

	EQ(queue_waits_init(&w, 10, 2), 0);
	queue_waits_add(&w, START, END, moments, 3);
	EQ(w.all.count, 2);
	EQ(w.all.sum_ns, 3020 * US);
	EQ(w.all.longest_ns, 3000 * US);
	EQ(w.cells[9 * QUEUE_ROWS + 5], 1);	/* 16.4 to 32.8 us */
	EQ(w.cells[1 * QUEUE_ROWS + 12], 1);	/* 2.1 to 4.2 ms */
	EQ(w.groups[0].sum_ns, 20 * US);
	EQ(w.groups[1].sum_ns, 3000 * US);
	queue_waits_done(&w);
}

TEST(queue_waits_of_two_windows_are_one)
{
	struct lane_moment moments[] = { moment(600000, 40000, REASON_RUN_QUEUE, 0),
					 moment(500000, 100000, REASON_RUN_QUEUE, 0),
					 moment(490000, 10000, REASON_NONE, 0),
					 moment(480000, 10000, REASON_RUN_QUEUE, 0) };
	struct queue_waits w;

	EQ(queue_waits_init(&w, 10, 1), 0);
	queue_waits_add(&w, START, END, moments, 4);
	EQ(w.all.count, 2);
	EQ(w.all.longest_ns, 140000 * US);
	EQ(w.cells[5 * QUEUE_ROWS + 18], 1);	/* 134 to 268 ms */
	queue_waits_done(&w);
}

TEST(queue_waits_with_a_gap_between_are_two)
{
	struct lane_moment moments[] = { moment(600000, 40000, REASON_RUN_QUEUE, 0),
					 moment(500000, 90000, REASON_RUN_QUEUE, 0) };
	struct queue_waits w;

	EQ(queue_waits_init(&w, 10, 1), 0);
	queue_waits_add(&w, START, END, moments, 2);
	EQ(w.all.count, 2);
	queue_waits_done(&w);
}

TEST(queue_waits_are_those_that_touch_the_range)
{
	struct lane_moment moments[] = { { END, 5, 0, REASON_RUN_QUEUE, 0 },
					 { END - 1, 1000 * US, 0, REASON_RUN_QUEUE, 0 },
					 { START - 20 * US, 10 * US, 0, REASON_RUN_QUEUE, 0 } };
	struct lane_moment before = { START - 20 * US, 30 * US, 0, REASON_RUN_QUEUE, 0 };
	struct queue_waits w;

	EQ(queue_waits_init(&w, 10, 1), 0);
	queue_waits_add(&w, START, END, &moments[0], 1);
	queue_waits_add(&w, START, END, &moments[2], 1);
	EQ(w.all.count, 0);
	queue_waits_add(&w, START, END, &moments[1], 1);
	EQ(w.cells[9 * QUEUE_ROWS + 10], 1);
	queue_waits_add(&w, START, END, &before, 1);
	EQ(w.cells[5], 1);
	EQ(w.all.count, 2);
	queue_waits_done(&w);
}

TEST(queue_waits_percentiles_are_at_most_an_eighth_too_long)
{
	struct queue_waits w;

	EQ(queue_waits_init(&w, 1, 1), 0);
	EQ(queue_lengths_percentile(&w.all, 50), 0);
	for (u64 us = 1; us <= 1000; us++) {
		struct lane_moment one = moment(us * 900, us, REASON_RUN_QUEUE, 0);

		queue_waits_add(&w, START, END, &one, 1);
	}
	for (u32 percent = 10; percent <= 90; percent += 10) {
		u64 ns = queue_lengths_percentile(&w.all, percent), exact_ns = percent * 10 * US;

		EQ(ns >= exact_ns && ns <= exact_ns + exact_ns / 8, 1);
	}
	EQ(queue_lengths_percentile(&w.all, 100), 1000 * US);
	queue_waits_done(&w);
}

TEST(queue_waits_take_any_length)
{
	struct lane_moment moments[] = { { START, 0, 0, REASON_RUN_QUEUE, 0 }, { START, 1, 0, REASON_RUN_QUEUE, 0 },
					 { START, UINT64_MAX - START, 0, REASON_RUN_QUEUE, 77 } };
	struct queue_waits w;

	EQ(queue_waits_init(&w, 1, 1), 0);
	for (u32 i = 0; i < 3; i++)
		queue_waits_add(&w, START, END, &moments[i], 1);
	EQ(w.cells[0], 1);			/* of no length it does not touch the range */
	EQ(w.cells[QUEUE_ROWS - 1], 1);
	EQ(w.groups[0].count, 1);
	queue_waits_done(&w);
}
