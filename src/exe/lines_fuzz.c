// SPDX-License-Identifier: Apache-2.0
#include "exe/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block that passes the check can be used in all ways. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) struct exe_lines *lines = malloc(size + 1);
	size_t used = 0;

	if (!lines)
		return 0;
	memcpy(lines, data, size);
	if (exe_lines_check(lines, size) < 0)
		return 0;
	for (u32 i = 0; i < lines->address_count; i++)
		for (u32 at = exe_lines_first(lines)[i]; at < exe_lines_first(lines)[i + 1]; at++) {
			const struct exe_line *line = &exe_lines_array(lines)[at];

			used += strlen(exe_lines_strings(lines) + line->function);
			used += strlen(exe_lines_strings(lines) + line->file);
		}
	return used == SIZE_MAX;
}
