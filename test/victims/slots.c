// SPDX-License-Identifier: Apache-2.0
/* Assembly without unwind information that aligns its stack and keeps the old one aside: slots_code.S. */
#include "victim.h"

uint64_t slots_base(uint64_t n);
uint64_t slots_copy(uint64_t n);
uint64_t slots_long(uint64_t n);

NOINLINE uint64_t outer(uint64_t n)
{
	TIMED(LEAF_A, slots_base(6 * n));
	TIMED(LEAF_B, slots_copy(3 * n));
	TIMED(LEAF_C, slots_long(n));
	return n;
}
