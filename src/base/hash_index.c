// SPDX-License-Identifier: Apache-2.0
#include "base/hash_index.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64u

void hash_index_done(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){ 0 };
}

void hash_index_clear(struct hash_index *index)
{
	if (index->slots)
		memset(index->slots, 0, index->slot_count * sizeof(*index->slots));
}

int hash_index_reserve(struct hash_index *index, u32 count)
{
	u32 slot_count = index->slot_count ? index->slot_count : SLOTS_MIN;
	u64 *slots;

	assert(count < UINT32_MAX / 2);
	while ((u64)slot_count * 3 < (u64)count * 4)
		slot_count *= 2;
	if (slot_count == index->slot_count)
		return 0;
	slots = calloc(slot_count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (u32 old = 0; old < index->slot_count; old++) {
		u32 i = (u32)(index->slots[old] >> 32) & (slot_count - 1);

		if (!index->slots[old])
			continue;
		while (slots[i])
			i = (i + 1) & (slot_count - 1);
		slots[i] = index->slots[old];
	}
	free(index->slots);
	*index = (struct hash_index){ slots, slot_count };
	return 0;
}
