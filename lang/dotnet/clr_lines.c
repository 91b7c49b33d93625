// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_lines.h"

#include <string.h>

#include "exe/source_map.h"
#include "lang/dotnet/clr_file.h"
#include "lang/lang.h"

u32 clr_lines_find(const struct lang_process *process, const struct clr_file *file, u32 method, u32 il,
		   const char **ret_path)
{
	struct lang_script script = { .path = file->path, .url = file->pdb };
	const struct source_map_place *found;
	const struct source_map *map;

	if (!process->source_map || process->source_map(process->arg, process, &script, &map) < 0)
		return 0;
	/* One of another build has other methods and lines. */
	found = memcmp(map->id, file->id, sizeof(map->id)) ? NULL : source_map_find(map, method, il);
	if (!found)
		return 0;
	*ret_path = source_map_text(map, found->source);
	return found->source_line + 1;
}
