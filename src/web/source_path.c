// SPDX-License-Identifier: Apache-2.0
#include "web/source_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool source_path_clean(struct str path, char ret_path[SOURCE_PATH_BYTES])
{
	size_t lengths[SOURCE_PARTS_MAX + 1] = { path.len && path.at[0] == '/' }, len = lengths[0];
	struct str part;
	u32 parts = 0;

	ret_path[0] = '/';
	if (path.len >= SOURCE_PATH_BYTES || (path.len && memchr(path.at, '\0', path.len)))
		return false;
	while (str_cut(&path, '/', &part)) {
		if (!part.len || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			parts -= parts > 0;
			len = lengths[parts];
			continue;
		}
		if (parts == SOURCE_PARTS_MAX || part.len > NAME_MAX)
			return false;
		if (parts)
			ret_path[len++] = '/';
		memcpy(ret_path + len, part.at, part.len);
		len += part.len;
		lengths[++parts] = len;
	}
	ret_path[len] = '\0';
	return parts > 0;
}

bool source_path_is_source(const char *path)
{
	static const char *const endings[] = {
		"adb", "ads", "asm", "c", "c++", "cc", "cjs", "clj", "cpp", "cr", "cs", "cts", "cu", "cuh", "cxx", "d",
		"dart", "erl", "ex", "exs", "f", "f90", "fs", "go", "groovy", "h", "h++", "hh", "hpp", "hrl", "hs",
		"hxx", "i", "inc", "inl", "ipp", "java", "jl", "js", "jsx", "kt", "kts", "l", "lua", "m", "mjs", "ml",
		"mli", "mm", "mts", "nim", "pas", "php", "pl", "pm", "py", "pyx", "r", "rb", "rs", "s", "S", "scala",
		"sh", "swift", "tcc", "ts", "tsx", "vb", "y", "zig",
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	for (size_t i = 0; dot && dot > name && i < sizeof(endings) / sizeof(endings[0]); i++)
		if (!strcmp(dot + 1, endings[i]))
			return true;
	return false;
}

const char *source_path_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	while (len && directory[len - 1] == '/')
		len--;
	return len && !strncmp(path, directory, len) && path[len] == '/' ? path + len + 1 : NULL;
}

bool source_path_map(char path[SOURCE_PATH_BYTES], const struct config_pairs *map)
{
	const char *best = NULL, *to = NULL;
	char mapped[SOURCE_PATH_BYTES];
	struct str all = { mapped, 0 };
	int len;

	for (u32 i = 0; i < map->count; i++) {
		const char *rest = source_path_below(path, map->at[i].key);

		if (!rest || (best && rest <= best))
			continue;
		best = rest;
		to = map->at[i].value;
	}
	if (!best)
		return true;
	len = snprintf(mapped, sizeof(mapped), "%s/%s", to, best);
	if (len >= (int)sizeof(mapped))
		return false;
	all.len = (u32)len;
	return source_path_clean(all, path);
}

const char *source_path_shorter(const char *path)
{
	const char *slash = *path == '/' ? path : strchr(path, '/');

	return slash ? slash + 1 : NULL;
}
