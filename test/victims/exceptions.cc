// SPDX-License-Identifier: Apache-2.0
/*
 * Exceptions in flight: time in a destructor that runs while the stack is
 * unwound, in a handler, and in the C++ runtime itself.
 */
#include "victim.h"

struct guard {
	uint64_t n;
	NOINLINE ~guard()
	{
		TIMED(LEAF_A, leaf_a(6 * n));
	}
};

NOINLINE void thrower(uint64_t n)
{
	guard g{ n };

	throw n;
}

NOINLINE void handles(uint64_t n)
{
	try {
		thrower(n);
	} catch (uint64_t caught) {
		TIMED(LEAF_B, leaf_b(3 * caught));
	}
}

NOINLINE void throws_one(uint64_t n)
{
	if (n)
		throw n;
}

NOINLINE uint64_t throws_often(uint64_t n)
{
	uint64_t x = 0;

	for (; n; n--) {
		try {
			throws_one(n);
		} catch (uint64_t caught) {
			x += caught;
		}
	}
	return x;
}

extern "C" NOINLINE uint64_t outer(uint64_t n)
{
	handles(n);
	TIMED(LEAF_C, throws_often(n / 1000 + 1));
	return n;
}
