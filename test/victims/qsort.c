// SPDX-License-Identifier: Apache-2.0
/* A callback through libc: outer -> qsort -> (libc) -> compare -> leaves. */
#include <stdlib.h>

#include "victim.h"

static uint64_t compare_n;

NOINLINE int compare(const void *a, const void *b)
{
	LEAVES(compare_n);
	return *(const int *)a - *(const int *)b;
}

NOINLINE uint64_t outer(uint64_t n)
{
	int values[] = { 5, 2, 8, 1, 9, 3, 7, 4 };

	compare_n = n / 16 + 1;
	qsort(values, 8, sizeof(values[0]), compare);
	NO_TAIL();
	return (uint64_t)values[0];
}
