// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <errno.h>
#include <stdint.h>

#include "test.h"

TEST(arena_hands_out_aligned_disjoint_blocks)
{
	struct arena a;
	char *one, *two;

	arena_init(&a, 1 << 20);
	one = arena_strndup(&a, "abcdef", 3);
	two = arena_zalloc(&a, 100000);
	STREQ(one, "abc");
	EQ((uintptr_t)two % 8, 0);
	EQ(two[99999], 0);
	EQ(arena_err(&a), 0);
	arena_done(&a);
}

TEST(arena_keeps_its_limit)
{
	struct arena a;

	arena_init(&a, 100);
	EQ(arena_alloc(&a, 60) != NULL, 1);
	EQ(arena_alloc(&a, 60) == NULL, 1);
	EQ(arena_err(&a), -E2BIG);
	EQ(arena_alloc(&a, 1) == NULL, 1);
	arena_done(&a);
}
