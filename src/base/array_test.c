// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "test.h"

TEST(array_grows_and_zeroes)
{
	uint64_t *a = NULL;
	uint32_t cap = 0;

	EQ(array_reserve(&a, &cap, 1, sizeof(*a)), 0);
	a[cap - 1] = 7;
	EQ(array_reserve(&a, &cap, 1000, sizeof(*a)), 0);
	OK(cap >= 1000);
	EQ(a[63], 7);
	EQ(a[64], 0);
	EQ(a[cap - 1], 0);
	free(a);
}

TEST(array_stays_as_it_was_without_memory)
{
	uint32_t *a = NULL, cap = 0;

	EQ(array_reserve(&a, &cap, 10, sizeof(*a)), 0);
	test_alloc_fail(0);
	EQ(array_reserve(&a, &cap, 1000, sizeof(*a)), -ENOMEM);
	test_alloc_reset();
	EQ(cap, 64);
	EQ(array_reserve(&a, &cap, UINT32_MAX, sizeof(*a)), -ENOMEM);
	free(a);
}

TEST(array_grow_stops_at_its_maximum)
{
	_cleanup_(freep) int *at = NULL;
	uint32_t cap = 0;

	for (uint32_t i = 0; i < 10; i++) {
		EQ(array_grow(&at, &cap, i, 10, sizeof(*at)), 0);
		OK(cap > i && cap <= 10);
		at[i] = (int)i;
	}
	EQ(array_grow(&at, &cap, 10, 10, sizeof(*at)), -E2BIG);
	for (int i = 0; i < 10; i++)
		EQ(at[i], i);
}
