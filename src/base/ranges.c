// SPDX-License-Identifier: Apache-2.0
#include "base/ranges.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ranges_init(struct ranges *ranges, uint32_t total)
{
	*ranges = (struct ranges){ .free = malloc(4 * sizeof(struct range)), .cap = 4 };
	if (!ranges->free)
		return -ENOMEM;
	ranges->free[0] = (struct range){ 0, total };
	ranges->free_count = total > 0;
	ranges->left = total;
	return 0;
}

void ranges_done(struct ranges *ranges)
{
	free(ranges->free);
	*ranges = (struct ranges){ 0 };
}

static void ranges_remove(struct ranges *ranges, uint32_t i)
{
	ranges->free_count--;
	memmove(&ranges->free[i], &ranges->free[i + 1], (ranges->free_count - i) * sizeof(struct range));
}

int64_t ranges_take(struct ranges *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < ranges->free_count; i++) {
		struct range *r = &ranges->free[i];
		uint32_t first = r->first;

		if (r->count < count)
			continue;
		r->first += count;
		r->count -= count;
		ranges->left -= count;
		if (!r->count)
			ranges_remove(ranges, i);
		return first;
	}
	return -ENOSPC;
}

static int ranges_insert(struct ranges *ranges, uint32_t i, struct range range)
{
	if (ranges->free_count == ranges->cap) {
		void *grown = reallocarray(ranges->free, ranges->cap * 2, sizeof(struct range));

		if (!grown)
			return -ENOMEM;
		ranges->free = grown;
		ranges->cap *= 2;
	}
	memmove(&ranges->free[i + 1], &ranges->free[i], (ranges->free_count - i) * sizeof(struct range));
	ranges->free[i] = range;
	ranges->free_count++;
	return 0;
}

int ranges_give(struct ranges *ranges, uint32_t first, uint32_t count)
{
	uint32_t i = 0;
	int r;

	if (!count)
		return 0;
	while (i < ranges->free_count && ranges->free[i].first < first)
		i++;
	assert(i == ranges->free_count || first + count <= ranges->free[i].first);
	if (i && ranges->free[i - 1].first + ranges->free[i - 1].count == first) {
		ranges->free[--i].count += count;
	} else {
		r = ranges_insert(ranges, i, (struct range){ first, count });
		if (r < 0)
			return r;
	}
	ranges->left += count;
	if (i + 1 < ranges->free_count && ranges->free[i].first + ranges->free[i].count == ranges->free[i + 1].first) {
		ranges->free[i].count += ranges->free[i + 1].count;
		ranges_remove(ranges, i + 1);
	}
	return 0;
}
