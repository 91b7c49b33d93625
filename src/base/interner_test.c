// SPDX-License-Identifier: Apache-2.0
#include "base/interner.h"

#include "base/arena.h"
#include "test.h"

TEST(interner_numbers_distinct_keys_in_order)
{
	struct arena a;
	struct interner in;
	bool is_new;

	arena_init(&a, 1 << 20);
	interner_init(&in, &a, 1000);
	EQ(interner_find(&in, "x", 1), INTERNER_NONE);
	EQ(interner_add(&in, "", 0, &is_new), 0);
	EQ(is_new, 1);
	EQ(interner_add(&in, "x", 1, NULL), 1);
	EQ(interner_add(&in, "x", 1, &is_new), 1);
	EQ(is_new, 0);
	EQ(interner_find(&in, "xy", 2), INTERNER_NONE);
	interner_done(&in);
	arena_done(&a);
}

TEST(interner_keeps_its_numbers_while_it_grows)
{
	struct arena a;
	struct interner in;

	arena_init(&a, 1 << 20);
	interner_init(&in, &a, 5000);
	for (uint32_t i = 0; i < 5000; i++)
		EQ(interner_add(&in, &i, sizeof(i), NULL), i);
	for (uint32_t i = 0; i < 5000; i++)
		EQ(interner_find(&in, &i, sizeof(i)), i);
	EQ(interner_add(&in, "one more", 8, NULL), INTERNER_NONE);
	interner_done(&in);
	arena_done(&a);
}

TEST(interner_has_hashes_that_nobody_can_foresee)
{
	struct interner in[2];
	struct arena a;
	uint32_t equal = 0;

	arena_init(&a, 1 << 20);
	for (int i = 0; i < 2; i++) {
		interner_init(&in[i], &a, 100);
		for (uint64_t key = 0; key < 100; key++)
			EQ(interner_add(&in[i], &key, sizeof(key), NULL), key);
	}
	for (uint32_t i = 0; i < 100; i++)
		equal += interner_get(&in[0], i)->hash == interner_get(&in[1], i)->hash;
	OK(equal < 10);
	interner_done(&in[0]);
	interner_done(&in[1]);
	arena_done(&a);
}
