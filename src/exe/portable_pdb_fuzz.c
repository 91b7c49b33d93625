// SPDX-License-Identifier: Apache-2.0
#include "exe/portable_pdb.h"

#include <stdint.h>
#include <stdlib.h>

#include "exe/source_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct source_map *map;

	if (portable_pdb_build(data, bytes, &map) < 0)
		return 0;
	if (source_map_check(map, map->bytes) < 0)
		__builtin_trap();
	for (u32 i = 0; i < map->place_count; i++)
		(void)source_map_find(map, map->places[i].line, map->places[i].column);
	free(map);
	return 0;
}
