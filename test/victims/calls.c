// SPDX-License-Identifier: Apache-2.0
/* Short functions called in a hot loop: most samples fall on prologues, epilogues and calls. */
#include "victim.h"

#ifdef __x86_64__
#define SAVED "rbx", "r12", "r13", "r14", "r15"
#else
#define SAVED "x19", "x20", "x21", "x22", "x23"
#endif

NOINLINE uint64_t tiny_pushes(uint64_t x)
{
	__asm__ volatile("" : "+r"(x) :: SAVED);
	return x + 1;
}

NOINLINE uint64_t tiny_room(uint64_t x)
{
	volatile uint64_t room[50];

	room[x % 50] = x;
	return room[x % 50];
}

NOINLINE uint64_t tiny_nested(uint64_t x)
{
	x = tiny_pushes(x);
	NO_TAIL();
	return x * 3;
}

#define CALLER(name, callee)							\
	NOINLINE uint64_t name(uint64_t n)					\
	{									\
		uint64_t x = n;							\
										\
		for (; n; n--)							\
			x = callee(x);						\
		return x;							\
	}

CALLER(calls_pushes, tiny_pushes)
CALLER(calls_room, tiny_room)
CALLER(calls_nested, tiny_nested)

NOINLINE uint64_t outer(uint64_t n)
{
	TIMED(LEAF_A, calls_pushes(6 * n));
	TIMED(LEAF_B, calls_room(3 * n));
	TIMED(LEAF_C, calls_nested(n));
	return n;
}
