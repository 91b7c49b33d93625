// SPDX-License-Identifier: Apache-2.0
/* DEPTH calls of recurse() below outer(), then the leaves. */
#include "victim.h"

#ifndef DEPTH
#define DEPTH 1000
#endif

NOINLINE uint64_t recurse(unsigned depth, uint64_t n)
{
	volatile uint64_t room[3];

	room[0] = n;
	if (depth > 1)
		n = recurse(depth - 1, n);
	else
		LEAVES(n);
	NO_TAIL();
	return n + room[0];
}

NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t r = recurse(DEPTH, n);

	NO_TAIL();
	return r;
}
