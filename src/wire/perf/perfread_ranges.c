// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct perfread_ranges *perfread_ranges_new(void)
{
	struct perfread_ranges *maps = calloc(1, sizeof(*maps));

	if (maps)
		maps->refs = 1;
	return maps;
}

struct perfread_ranges *perfread_ranges_ref(struct perfread_ranges *maps)
{
	maps->refs++;
	return maps;
}

void perfread_ranges_unref(struct perfread_ranges *maps, struct perfread_ranges_budget *budget)
{
	if (!maps || --maps->refs)
		return;
	budget->held -= maps->count;
	free(maps->at);
	free(maps);
}

/* The first range that ends behind an address. */
static u32 first_behind(const struct perfread_ranges *maps, u64 va)
{
	u32 lo = 0, hi = maps->count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (maps->at[mid].end_va > va)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

const struct perfread_range *perfread_ranges_find(const struct perfread_ranges *maps, u64 va)
{
	u32 i = maps ? first_behind(maps, va) : 0;

	return maps && i < maps->count && maps->at[i].start_va <= va ? &maps->at[i] : NULL;
}

/* A copy of one's own; -ENOSPC past the budget. */
static int make_private(struct perfread_ranges **maps, struct perfread_ranges_budget *budget)
{
	struct perfread_ranges *old = *maps, *copy;

	if (old->refs == 1)
		return 0;
	if (budget->moved + old->count > PERFREAD_RANGES_MOVED_MAX || budget->held + old->count > PERFREAD_RANGES_MAX)
		return -ENOSPC;
	copy = perfread_ranges_new();
	if (!copy)
		return -ENOMEM;
	if (array_reserve(&copy->at, &copy->cap, old->count + 1, sizeof(*copy->at)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	if (old->count)
		memcpy(copy->at, old->at, old->count * sizeof(*copy->at));
	copy->count = old->count;
	budget->moved += old->count;
	budget->held += old->count;
	perfread_ranges_unref(old, budget);
	*maps = copy;
	return 0;
}

/* Replaces ranges from first up to last by others. */
static int splice(struct perfread_ranges *maps, u32 first, u32 last, const struct perfread_range *by, u32 count)
{
	u32 left = maps->count - (last - first);
	int r = array_reserve(&maps->at, &maps->cap, left + count, sizeof(*maps->at));

	if (r < 0)
		return r;
	memmove(maps->at + first + count, maps->at + last, (maps->count - last) * sizeof(*maps->at));
	memcpy(maps->at + first, by, count * sizeof(*by));
	maps->count = left + count;
	return 0;
}

int perfread_ranges_put(struct perfread_ranges **maps_at, struct perfread_ranges_budget *budget,
		      const struct perfread_range *map)
{
	struct perfread_range by[3];
	struct perfread_ranges *maps;
	u32 first, last, count = 0, before;
	int r;

	if (map->start_va >= map->end_va)
		return 0;
	r = budget->held + 2 > PERFREAD_RANGES_MAX || budget->moved > PERFREAD_RANGES_MOVED_MAX ?
		    -ENOSPC : make_private(maps_at, budget);
	if (r < 0) {
		budget->dropped++;
		return r == -ENOSPC ? 0 : r;
	}
	maps = *maps_at;
	first = last = first_behind(maps, map->start_va);
	while (last < maps->count && maps->at[last].start_va < map->end_va)
		last++;
	if (last > first && maps->at[first].start_va < map->start_va) {
		by[count] = maps->at[first];
		by[count++].end_va = map->start_va;
	}
	by[count++] = *map;
	if (last > first && maps->at[last - 1].end_va > map->end_va) {
		by[count] = maps->at[last - 1];
		by[count++].start_va = map->end_va;
	}
	before = maps->count;
	budget->moved += before - last;
	r = splice(maps, first, last, by, count);
	if (r < 0)
		return r;
	budget->held += maps->count - before;
	maps->change = ++budget->changes;
	return 0;
}
