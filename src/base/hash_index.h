/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers found by the hashes of their keys, open-addressed. The keys are the caller's, who compares them:
 *
 *	u64 *slot = hash_index_first(&x->index, hash);
 *
 *	while (*slot && !is_equal(&x->rows[hash_index_number(*slot)], key))
 *		slot = hash_index_next(&x->index, hash, slot);
 *
 *  - After hash_index_reserve(count) there is room for that many, and always an empty slot: three quarters are used
 *    at most. Before the first there are no slots: do not look.
 *  - Slots move when it is reserved.
 *  - Who takes keys from strangers seeds the hash. How many there may be is the caller's to bound.
 */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stddef.h>

#include "base/types.h"

struct hash_index {
	u64 *slots;		/* hash << 32 | number + 1, or 0 */
	u32 slot_count;
};

void hash_index_done(struct hash_index *index);

static inline size_t hash_index_bytes(const struct hash_index *index)
{
	return index->slot_count * sizeof(*index->slots);
}

/* 0 or -ENOMEM: then all is as before. */
int hash_index_reserve(struct hash_index *index, u32 count);

/* Forgets all numbers, keeps the room. */
void hash_index_clear(struct hash_index *index);

static inline u32 hash_index_number(u64 slot)
{
	return (u32)slot - 1;
}

static inline void hash_index_put(u64 *slot, u32 hash, u32 number)
{
	*slot = (u64)hash << 32 | (number + 1);
}

/* The first from there on that is empty, or may be the one. */
static inline u64 *hash_index_scan(const struct hash_index *index, u32 hash, u32 at)
{
	while (index->slots[at] && index->slots[at] >> 32 != hash)
		at = (at + 1) & (index->slot_count - 1);
	return &index->slots[at];
}

static inline u64 *hash_index_first(const struct hash_index *index, u32 hash)
{
	return hash_index_scan(index, hash, hash & (index->slot_count - 1));
}

static inline u64 *hash_index_next(const struct hash_index *index, u32 hash, const u64 *slot)
{
	return hash_index_scan(index, hash, (u32)(slot - index->slots + 1) & (index->slot_count - 1));
}

#endif
