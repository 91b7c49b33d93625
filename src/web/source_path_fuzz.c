// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web/source_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left can be opened below a directory: no part leads up, none is empty. */
static void check(const char *path)
{
	char text[SOURCE_PATH_BYTES + 2];
	size_t len = strlen(path);

	if (!len || len >= SOURCE_PATH_BYTES)
		abort();
	(void)snprintf(text, sizeof(text), "/%s/", path + (*path == '/'));
	if (strstr(text, "//") || strstr(text, "/./") || strstr(text, "/../"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct config_pair at[] = { { "/a", "/src" }, { "/a/b", "/src/../b" }, { "c", "/c" } };
	static const struct config_pairs map = { 3, at };
	struct str text = { (const char *)data, (u32)size };
	char path[SOURCE_PATH_BYTES];

	if (size > UINT32_MAX || !source_path_clean(text, path))
		return 0;
	check(path);
	if (!source_path_map(path, &map))
		return 0;
	check(path);
	(void)source_path_is_source(path);
	for (const char *rest = path; (rest = source_path_shorter(rest));)
		check(rest);
	return 0;
}
