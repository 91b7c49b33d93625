// SPDX-License-Identifier: Apache-2.0
/* v-deep SECONDS DEPTH: as many calls below outer(), of three functions that take turns, then the leaves. */
#include <stdlib.h>

#include "victim.h"

static unsigned deepest = 3000;

NOINLINE uint64_t turn_0(unsigned left, uint64_t n);
NOINLINE uint64_t turn_1(unsigned left, uint64_t n);
NOINLINE uint64_t turn_2(unsigned left, uint64_t n);

/* Each has a frame of another size. */
#define TURN(name, next, words)							\
	uint64_t name(unsigned left, uint64_t n)				\
	{									\
		volatile uint64_t room[words];					\
										\
		room[0] = n;							\
		if (left > 1)							\
			n = next(left - 1, n);					\
		else								\
			LEAVES(n);						\
		NO_TAIL();							\
		return n + room[0];						\
	}

TURN(turn_0, turn_1, 1)
TURN(turn_1, turn_2, 4)
TURN(turn_2, turn_0, 9)

void victim_setup(int argc, char **argv)
{
	if (argc > 2)
		deepest = (unsigned)strtoul(argv[2], NULL, 10);
}

uint64_t outer(uint64_t n)
{
	uint64_t r = turn_0(deepest, n);

	NO_TAIL();
	return r;
}
