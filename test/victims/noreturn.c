// SPDX-License-Identifier: Apache-2.0
/*
 * middle ends in a call that never returns, so its return address lies past
 * its last byte, in whatever the linker put next. longjmp ends the round.
 */
#include <setjmp.h>

#include "victim.h"

static jmp_buf back;

__attribute__((noreturn)) NOINLINE void never_returns(uint64_t n)
{
	LEAVES(n);
	longjmp(back, 1);
}

NOINLINE void middle(uint64_t n)
{
	volatile uint64_t room[9];

	room[n % 9] = n;
	never_returns(room[n % 9]);
}

NOINLINE uint64_t after_middle(uint64_t n)
{
	return n * 3;
}

NOINLINE uint64_t outer(uint64_t n)
{
	if (!setjmp(back))
		middle(n);
	return after_middle(n);
}
