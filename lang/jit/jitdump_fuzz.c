// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/jitdump.h"

#include <stdint.h>

#include "lang/jit/code_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct code_table table = { 0 };

	(void)jitdump_header(data, bytes);
	if (jitdump_parse(&table, data, bytes) > (long)bytes)
		__builtin_trap();
	(void)code_table_find(&table, 0x5000);
	code_table_done(&table);
	return 0;
}
