// SPDX-License-Identifier: Apache-2.0
#include "base/interner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arena.h"

void interner_init(struct interner *interner, struct arena *arena, uint32_t max_count)
{
	assert(max_count < INTERNER_NONE / 2);
	*interner = (struct interner){ .arena = arena, .max_count = max_count };
	if (getrandom(&interner->seed, sizeof(interner->seed), GRND_NONBLOCK) != sizeof(interner->seed))
		interner->seed = (uintptr_t)interner;
}

void interner_done(struct interner *interner)
{
	free(interner->entries);
	free(interner->slots);
	*interner = (struct interner){ 0 };
}

/* The slot that holds the key, or the empty one where it belongs. */
static struct interner_slot *interner_slot(const struct interner *interner, const void *at, size_t len, uint32_t hash)
{
	uint32_t mask = interner->slot_count - 1;

	for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
		struct interner_slot *slot = &interner->slots[i];
		const struct interner_entry *e;

		if (!slot->number)
			return slot;
		if (slot->hash != hash)
			continue;
		e = &interner->entries[slot->number - 1];
		if (e->len == len && (!len || !memcmp(e->at, at, len)))
			return slot;
	}
}

static bool interner_rehash(struct interner *interner)
{
	uint32_t slot_count = interner->slot_count ? interner->slot_count * 2 : 64;
	struct interner_slot *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return false;
	free(interner->slots);
	interner->slots = slots;
	interner->slot_count = slot_count;
	for (uint32_t n = 0; n < interner->count; n++) {
		uint32_t hash = interner->entries[n].hash, i = hash & (slot_count - 1);

		while (slots[i].number)
			i = (i + 1) & (slot_count - 1);
		slots[i] = (struct interner_slot){ n + 1, hash };
	}
	return true;
}

static bool interner_reserve(struct interner *interner)
{
	if (interner->count >= interner->max_count)
		return false;
	if (interner->count == interner->cap) {
		uint32_t cap = interner->cap ? interner->cap * 2 : 32;
		void *entries = reallocarray(interner->entries, cap, sizeof(*interner->entries));

		if (!entries)
			return false;
		interner->entries = entries;
		interner->cap = cap;
	}
	/* At most three quarters full. */
	return (uint64_t)interner->slot_count * 3 > (uint64_t)interner->count * 4 || interner_rehash(interner);
}

static uint32_t interner_hash(const struct interner *interner, const void *at, size_t len)
{
	return (uint32_t)(len ? XXH3_64bits_withSeed(at, len, interner->seed) : 0);
}

uint32_t interner_find(const struct interner *interner, const void *at, size_t len)
{
	if (!interner->slot_count)
		return INTERNER_NONE;
	return interner_slot(interner, at, len, interner_hash(interner, at, len))->number - 1;
}

uint32_t interner_add(struct interner *interner, const void *at, size_t len, bool *ret_new)
{
	uint32_t hash = interner_hash(interner, at, len);
	uint32_t number = interner->slot_count ? interner_slot(interner, at, len, hash)->number - 1 : INTERNER_NONE;
	void *copy;

	if (ret_new)
		*ret_new = number == INTERNER_NONE;
	if (number != INTERNER_NONE)
		return number;
	if (len > UINT32_MAX || !interner_reserve(interner))
		return INTERNER_NONE;
	copy = arena_copy(interner->arena, at, len);
	if (!copy)
		return INTERNER_NONE;
	number = interner->count++;
	interner->entries[number] = (struct interner_entry){ copy, (uint32_t)len, hash };
	*interner_slot(interner, copy, len, hash) = (struct interner_slot){ number + 1, hash };
	return number;
}
