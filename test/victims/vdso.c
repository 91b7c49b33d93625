// SPDX-License-Identifier: Apache-2.0
/* The leaves ask for the time: libc, then the vDSO (or the kernel, where the clock needs it). */
#include <time.h>

#include "victim.h"

#define CLOCKS(name)								\
	NOINLINE uint64_t name(uint64_t n)					\
	{									\
		struct timespec t;						\
		uint64_t x = 0;							\
										\
		for (; n; n--) {						\
			clock_gettime(CLOCK_MONOTONIC, &t);			\
			x += (uint64_t)t.tv_nsec;				\
		}								\
		return x;							\
	}

CLOCKS(clocks_a)
CLOCKS(clocks_b)
CLOCKS(clocks_c)

NOINLINE uint64_t outer(uint64_t n)
{
	TIMED(LEAF_A, clocks_a(6 * n));
	TIMED(LEAF_B, clocks_b(3 * n));
	TIMED(LEAF_C, clocks_c(n));
	return n;
}
