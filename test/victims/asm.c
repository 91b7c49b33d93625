// SPDX-License-Identifier: Apache-2.0
/* Hand-written assembly with CFI: our own, and glibc's memcpy. */
#include <string.h>

#include "victim.h"

uint64_t asm_pushes(uint64_t n);
uint64_t asm_frame(uint64_t n);

static char from[16384], to[16384];

NOINLINE uint64_t copies(uint64_t n)
{
	n = n / 256 + 1;
	for (; n; n--) {
		memcpy(to, from, sizeof(to));
		NO_TAIL();
	}
	return (uint64_t)to[0];
}

NOINLINE uint64_t outer(uint64_t n)
{
	TIMED(LEAF_A, asm_pushes(6 * n));
	TIMED(LEAF_B, asm_frame(3 * n));
	TIMED(LEAF_C, copies(n));
	return n;
}
