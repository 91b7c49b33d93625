// SPDX-License-Identifier: Apache-2.0
/* The plain chain, built in every flavour: outer -> middle -> leaves. */
#include "victim.h"

NOINLINE uint64_t middle(uint64_t n)
{
	volatile uint64_t room[7];

	room[n % 7] = n;
	LEAVES(n);
	return room[n % 7];
}

NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t r = middle(n);

	NO_TAIL();
	return r + n;
}
