// SPDX-License-Identifier: Apache-2.0
/* Code at which an unwinder that takes a 0 for the end of a stack finds one, and it is not the end: roots_code.S. */
#include "victim.h"

uint64_t roots_wrong_cfi(uint64_t n);
uint64_t roots_own_stack(uint64_t n);
uint64_t roots_no_rule(uint64_t n);

NOINLINE uint64_t outer(uint64_t n)
{
	TIMED(LEAF_A, roots_wrong_cfi(6 * n));
	TIMED(LEAF_B, roots_own_stack(3 * n));
	TIMED(LEAF_C, roots_no_rule(n));
	return n;
}
