// SPDX-License-Identifier: Apache-2.0
#include "base/largest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define VALUES 400

static int compare_falling(const void *a, const void *b)
{
	const s64 *x = a, *y = b;

	return *x > *y ? -1 : *x < *y;
}

/* Each k of them, against a sort. */
static void expect_sorted(const s64 *values, u32 count)
{
	s64 sorted[VALUES], found;

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare_falling);
	for (u32 k = 0; k < count; k++) {
		EQ(kth_largest(values, count, k, &found), 0);
		EQ(found, sorted[k]);
	}
}

TEST(largest_is_what_a_sort_says)
{
	s64 values[VALUES];
	u64 random = 88172645463325252;

	for (u32 bits = 1; bits < 64; bits += 3) {
		for (u32 i = 0; i < VALUES; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			values[i] = (s64)random >> (64 - bits);
		}
		expect_sorted(values, VALUES);
	}
}

TEST(largest_of_equals_and_of_extremes)
{
	static const s64 extremes[] = { INT64_MAX, 0, INT64_MIN, -1, 1, 15, 16, 17, INT64_MAX, 31, 32, INT64_MAX - 1 };
	s64 equals[VALUES];

	for (u32 i = 0; i < VALUES; i++)
		equals[i] = 7;
	expect_sorted(equals, VALUES);
	expect_sorted(equals, 1);
	expect_sorted(extremes, sizeof(extremes) / sizeof(extremes[0]));
}

TEST(largest_takes_the_first_of_equals)
{
	static const s64 at[] = { 7, 3, 3, 9, 3, 0, -1, 3 };
	static const bool three[] = { 1, 1, 0, 1, 0, 0, 0, 0 }, six[] = { 1, 1, 1, 1, 1, 0, 0, 1 };
	struct largest largest;

	EQ(largest_init(&largest, at, 8, 3), 0);
	for (u32 i = 0; i < 8; i++)
		EQ(largest_takes(&largest, at[i]), three[i]);
	EQ(largest_init(&largest, at, 8, 7), 0);
	for (u32 i = 0; i < 8; i++)
		EQ(largest_takes(&largest, at[i]), six[i]);
}
