// SPDX-License-Identifier: Apache-2.0
#include "wire/idmap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "profile/profile.h"
#include "profile/table.h"

void idmap_done(struct idmap *map)
{
	free(map->entries);
	*map = (struct idmap){ 0 };
}

int idmap_add(struct idmap *map, u64 id)
{
	int r;

	if (!id)
		return -EBADMSG;
	/* While ids are their numbers there is nothing to keep but how many. */
	if (!map->scattered && id == (u64)map->count + 1) {
		map->count++;
		return 0;
	}
	for (u32 i = 0; !map->scattered && i < map->count; i++) {
		r = array_grow(&map->entries, &map->cap, i, PROFILE_TABLE_MAX, sizeof(*map->entries));
		if (r < 0)
			return r;
		map->entries[i] = (struct idmap_entry){ i + 1, i + 1 };
	}
	map->scattered = true;
	r = array_grow(&map->entries, &map->cap, map->count, PROFILE_TABLE_MAX, sizeof(*map->entries));
	if (r < 0)
		return r;
	map->entries[map->count] = (struct idmap_entry){ id, map->count + 1 };
	map->count++;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	u64 x = ((const struct idmap_entry *)a)->id, y = ((const struct idmap_entry *)b)->id;

	return x < y ? -1 : x > y;
}

int idmap_finish(struct idmap *map)
{
	if (!map->scattered)
		return 0;
	qsort(map->entries, map->count, sizeof(*map->entries), compare_ids);
	for (u32 i = 1; i < map->count; i++)
		if (map->entries[i - 1].id == map->entries[i].id)
			return -EBADMSG;
	return 0;
}

u32 idmap_find(const struct idmap *map, u64 id)
{
	const struct idmap_entry *found;

	if (!map->scattered)
		return id <= map->count ? (u32)id : 0;
	found = bsearch(&(struct idmap_entry){ .id = id }, map->entries, map->count, sizeof(*map->entries),
			compare_ids);
	return found ? found->number : 0;
}
