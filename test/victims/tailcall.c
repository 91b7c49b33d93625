// SPDX-License-Identifier: Apache-2.0
/* middle jumps to the leaves: it is not on the stack, and must not be invented. */
#include "victim.h"

NOINLINE uint64_t middle(uint64_t (*leaf)(uint64_t), uint64_t n)
{
	return leaf(n + 1);
}

NOINLINE uint64_t outer(uint64_t n)
{
	TIMED(LEAF_A, middle(leaf_a, 6 * n));
	TIMED(LEAF_B, middle(leaf_b, 3 * n));
	TIMED(LEAF_C, middle(leaf_c, n));
	return n;
}
