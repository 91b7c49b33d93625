// SPDX-License-Identifier: Apache-2.0
#include "victim.h"

uint64_t plt_one(uint64_t x);
uint64_t plt_two(uint64_t x);

NOINLINE uint64_t plt_one(uint64_t x)
{
	return x * 3 + 1;
}

NOINLINE uint64_t plt_two(uint64_t x)
{
	volatile uint64_t room[5];

	room[x % 5] = x;
	return room[x % 5] + 1;
}
