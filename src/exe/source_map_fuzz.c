// SPDX-License-Identifier: Apache-2.0
#include "exe/source_map.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct source_map *map;

	if (source_map_build((const char *)data, bytes, &map) < 0)
		return 0;
	if (source_map_check(map, map->bytes) < 0)
		__builtin_trap();
	for (u32 i = 0; i < map->place_count; i++) {
		const struct source_map_place *at = &map->places[i];
		const struct source_map_place *found = source_map_find(map, at->line, at->column);

		if (found && (found->line != at->line || found->column != at->column))
			__builtin_trap();
	}
	free(map);
	return 0;
}
