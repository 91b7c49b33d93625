// SPDX-License-Identifier: Apache-2.0
/* Many calls through the procedure linkage table, bound lazily. */
#include "victim.h"

uint64_t plt_one(uint64_t x);
uint64_t plt_two(uint64_t x);

#define CALLER(name, callee)							\
	NOINLINE uint64_t name(uint64_t n)					\
	{									\
		uint64_t x = n;							\
										\
		for (; n; n--)							\
			x = callee(x);						\
		return x;							\
	}

CALLER(calls_a, plt_one)
CALLER(calls_b, plt_two)
CALLER(calls_c, plt_one)

NOINLINE uint64_t outer(uint64_t n)
{
	TIMED(LEAF_A, calls_a(6 * n));
	TIMED(LEAF_B, calls_b(3 * n));
	TIMED(LEAF_C, calls_c(n));
	return n;
}
