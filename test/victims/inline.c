// SPDX-License-Identifier: Apache-2.0
/* Inlined functions, three deep: middle holds inl_a (holds inl_a_inner), inl_b and leaf_c. */
#include "victim.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t inl_a_inner(uint64_t n)
{
	uint64_t x = n;

	SPIN(n, x);
	return x;
}

INLINE uint64_t inl_a(uint64_t n)
{
	return inl_a_inner(n) + 1;
}

INLINE uint64_t inl_b(uint64_t n)
{
	uint64_t x = n;

	SPIN(n, x);
	return x;
}

INLINE uint64_t inl_c(uint64_t n)
{
	return leaf_c(n) + 1;
}

NOINLINE uint64_t middle(uint64_t n)
{
	TIMED(LEAF_A, inl_a(6 * n));
	TIMED(LEAF_B, inl_b(3 * n));
	TIMED(LEAF_C, inl_c(n));
	return n;
}

NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t r = middle(n);

	NO_TAIL();
	return r;
}
