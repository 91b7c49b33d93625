// SPDX-License-Identifier: Apache-2.0
#include "exe/line_table.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same bytes serve as .debug_line and as the strings it refers to. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_sections sections = { { data, size }, { data, size }, { data, size } };
	struct line_wanted wanted[] = { { .ea = 0 }, { .ea = 0x1000 }, { .ea = 0x1008 }, { .ea = ~0ull } };
	const char *directory, *name;
	struct line_table table;

	if (line_table_open(&table, &sections, 0) < 0)
		return 0;
	line_table_find(&table, wanted, 4);
	for (u32 i = 0; i < 4; i++)
		(void)line_table_file(&table, wanted[i].file, &directory, &name);
	return 0;
}
