// SPDX-License-Identifier: Apache-2.0
#include "base/hash_index.h"

#include <errno.h>

#include "test.h"

/* The key of a number is its square; the hash is chosen by the test. */
static u64 *slot_of(const struct hash_index *index, u32 hash, u64 key)
{
	u64 *slot = hash_index_first(index, hash);

	while (*slot && (u64)hash_index_number(*slot) * hash_index_number(*slot) != key)
		slot = hash_index_next(index, hash, slot);
	return slot;
}

static void add(struct hash_index *index, u32 hash, u32 number)
{
	u64 *slot;

	EQ(hash_index_reserve(index, number + 1), 0);
	slot = slot_of(index, hash, (u64)number * number);
	EQ(*slot, 0);
	hash_index_put(slot, hash, number);
}

TEST(hash_index_finds_what_was_put_however_it_collides)
{
	static const u32 masks[] = { 0xffffffff, 0xff, 0x3, 0 };

	for (u32 n = 0; n < sizeof(masks) / sizeof(*masks); n++) {
		struct hash_index index = { 0 };

		for (u32 i = 0; i < 1000; i++)
			add(&index, i * 2654435761u & masks[n], i);
		OK(index.slot_count * 3 >= 1000 * 4);
		for (u32 i = 0; i < 1000; i++)
			EQ(hash_index_number(*slot_of(&index, i * 2654435761u & masks[n], (u64)i * i)), i);
		EQ(*slot_of(&index, 7, 3), 0);
		hash_index_clear(&index);
		EQ(*slot_of(&index, 0, 0), 0);
		hash_index_done(&index);
		EQ(index.slots, NULL);
	}
}

TEST(hash_index_goes_on_at_the_first_slot_behind_the_last)
{
	struct hash_index index = { 0 };

	EQ(hash_index_reserve(&index, 1), 0);
	EQ(index.slot_count, 64);
	for (u32 i = 0; i < 3; i++)
		add(&index, 63, i);
	OK(index.slots[63] && index.slots[0] && index.slots[1]);
	EQ(hash_index_number(*slot_of(&index, 63, 4)), 2);
	hash_index_done(&index);
}

TEST(hash_index_without_memory_is_as_before)
{
	struct hash_index index = { 0 };

	add(&index, 5, 0);
	test_alloc_fail(0);
	EQ(hash_index_reserve(&index, 1000), -ENOMEM);
	(void)test_alloc_reset();
	EQ(index.slot_count, 64);
	EQ(hash_index_number(*slot_of(&index, 5, 0)), 0);
	hash_index_done(&index);
}
