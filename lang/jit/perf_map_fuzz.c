// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/perf_map.h"

#include <stdint.h>

#include "lang/jit/code_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct code_table table = { 0 };

	if (perf_map_parse(&table, (const char *)data, bytes) > bytes)
		__builtin_trap();
	for (u32 i = 0; i < table.count; i++)
		if (!code_table_find(&table, table.pieces[i].start_va))
			__builtin_trap();
	code_table_done(&table);
	return 0;
}
