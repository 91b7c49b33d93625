// SPDX-License-Identifier: Apache-2.0
/* The three leaves: without a frame, with a local array, with every callee-saved register pushed. */
#include "victim.h"

#ifdef __x86_64__
#define SAVED "rbx", "r12", "r13", "r14", "r15"
#else
#define SAVED "x19", "x20", "x21", "x22", "x23"
#endif

NOINLINE uint64_t leaf_a(uint64_t n)
{
	uint64_t x = n;

	SPIN(n, x);
	return x;
}

NOINLINE uint64_t leaf_b(uint64_t n)
{
	volatile uint64_t room[33];
	uint64_t x = n;

	room[n % 33] = x;
	SPIN(n, x);
	return x + room[n % 33];
}

NOINLINE uint64_t leaf_c(uint64_t n)
{
	uint64_t x = n;

	__asm__ volatile("" ::: SAVED);
	SPIN(n, x);
	return x;
}
