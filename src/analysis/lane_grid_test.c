// SPDX-License-Identifier: Apache-2.0
#include "analysis/lane_grid.h"

#include "base/clock.h"
#include "test.h"

#define MS (SECOND_NS / 1000)
#define START (1000 * SECOND_NS)

/* In whole milliseconds, rounded. */
static u64 in_ms(const struct lane_grid *g, u32 bucket, enum wait_reason reason)
{
	return (u64)(lane_grid_cell(g, bucket)[reason] / MS + 0.5);
}

static struct lane_moment moment(u64 at_ms, u64 length_ms, enum wait_reason reason)
{
	return (struct lane_moment){ START + at_ms * MS, length_ms * MS, 0, reason, 0 };
}

TEST(lane_grid_puts_samples_into_the_time_before_them)
{
	struct lane_moment moments[] = { moment(1000, 100, REASON_NONE), moment(900, 250, REASON_FUTEX),
					 moment(650, 50, REASON_RUN_QUEUE) };
	struct lane_grid g;

	EQ(lane_grid_init(&g, START, START + SECOND_NS, 10), 0);
	lane_grid_fill(&g, moments, 3);
	EQ(in_ms(&g, 9, REASON_NONE), 100);
	EQ(in_ms(&g, 8, REASON_FUTEX), 100);
	EQ(in_ms(&g, 7, REASON_FUTEX), 100);
	EQ(in_ms(&g, 6, REASON_FUTEX), 50);
	EQ(in_ms(&g, 6, REASON_RUN_QUEUE), 50);
	EQ(in_ms(&g, 5, REASON_RUN_QUEUE), 0);
	EQ(g.last_ns, 0);
	lane_grid_done(&g);
}

TEST(lane_grid_has_no_more_in_a_bucket_than_its_time)
{
	struct lane_moment moments[100];
	struct lane_grid g;
	double all = 0;

	EQ(lane_grid_init(&g, START, START + SECOND_NS, 10), 0);
	/* All told of at one moment, as a wait and the run queue behind it are: 10 ms each. */
	for (u32 i = 0; i < 100; i++)
		moments[i] = moment(1000, 10, i % 2 ? REASON_POLL : REASON_DISK);
	lane_grid_fill(&g, moments, 100);
	for (u32 i = 0; i < 10; i++) {
		EQ(in_ms(&g, i, REASON_POLL) + in_ms(&g, i, REASON_DISK), 100);
		all += lane_grid_cell(&g, i)[REASON_POLL];
	}
	EQ((u64)(all / MS + 0.5), 500);
	/* More than there is time: the rest was before, and is not told of. */
	moments[0] = moment(500, 5000, REASON_SLEEP);
	lane_grid_fill(&g, moments, 1);
	EQ(in_ms(&g, 0, REASON_SLEEP), 100);
	EQ(in_ms(&g, 4, REASON_SLEEP), 100);
	EQ(in_ms(&g, 5, REASON_SLEEP), 0);
	lane_grid_done(&g);
}

TEST(lane_grid_knows_of_what_is_told_later)
{
	struct lane_moment moments[] = { moment(4000, 3900, REASON_SLEEP), moment(100, 100, REASON_NONE) };
	struct lane_grid g;

	EQ(lane_grid_init(&g, START, START + SECOND_NS, 10), 0);
	lane_grid_fill(&g, moments, 2);
	EQ(in_ms(&g, 0, REASON_NONE), 100);
	EQ(in_ms(&g, 1, REASON_SLEEP), 100);
	EQ(in_ms(&g, 9, REASON_SLEEP), 100);
	EQ(g.last_ns, START + 4 * SECOND_NS);
	lane_grid_done(&g);
}

TEST(lane_grid_of_exact_parts_has_them_where_they_were)
{
	struct lane_moment moments[] = { moment(950, 500, REASON_FUTEX), moment(250, 100, REASON_NONE) };
	struct lane_grid g;

	EQ(lane_grid_init(&g, START, START + SECOND_NS, 10), 0);
	g.is_exact = true;
	moments[1].at_ns -= 300 * MS;
	lane_grid_fill(&g, moments, 2);
	EQ(in_ms(&g, 9, REASON_FUTEX), 50);
	EQ(in_ms(&g, 0, REASON_NONE), 50);
	EQ(in_ms(&g, 1, REASON_NONE), 0);
	lane_grid_done(&g);
}

TEST(lane_grid_bears_any_times)
{
	struct lane_moment moments[] = { { UINT64_MAX, UINT64_MAX, 0, REASON_OTHER, 0 },
					 { START, 0, 0, REASON_NONE, 0 },
					 { 0, UINT64_MAX, 0, REASON_POLL, 0 } };
	struct lane_grid g;

	for (u32 exact = 0; exact < 2; exact++) {
		EQ(lane_grid_init(&g, START, START + 1, 3), 0);
		g.is_exact = exact;
		lane_grid_fill(&g, moments, 3);
		lane_grid_done(&g);
	}
}
