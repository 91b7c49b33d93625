// SPDX-License-Identifier: Apache-2.0
#include "base/ranges.h"

#include <errno.h>

#include "test.h"

TEST(ranges_hands_out_the_lowest_that_fits)
{
	struct ranges r;

	EQ(ranges_init(&r, 10), 0);
	EQ(ranges_take(&r, 4), 0);
	EQ(ranges_take(&r, 4), 4);
	EQ(ranges_take(&r, 4), -ENOSPC);
	EQ(ranges_take(&r, 2), 8);
	EQ(r.left, 0);
	ranges_done(&r);
}

TEST(ranges_joins_neighbours_that_come_back)
{
	struct ranges r;

	EQ(ranges_init(&r, 9), 0);
	for (int i = 0; i < 3; i++)
		EQ(ranges_take(&r, 3), 3 * i);
	EQ(ranges_give(&r, 0, 3), 0);
	EQ(ranges_give(&r, 6, 3), 0);
	EQ(r.free_count, 2);
	EQ(ranges_give(&r, 3, 3), 0);
	EQ(r.free_count, 1);
	EQ(ranges_take(&r, 9), 0);
	ranges_done(&r);
}

TEST(ranges_keeps_many_holes)
{
	struct ranges r;

	EQ(ranges_init(&r, 1000), 0);
	for (int i = 0; i < 1000; i++)
		EQ(ranges_take(&r, 1), i);
	for (int i = 0; i < 1000; i += 2)
		EQ(ranges_give(&r, i, 1), 0);
	EQ(r.free_count, 500);
	EQ(ranges_take(&r, 2), -ENOSPC);
	EQ(r.left, 500);
	ranges_done(&r);
}
