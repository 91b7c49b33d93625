// SPDX-License-Identifier: Apache-2.0
#include "exe/symbols_build.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An ELF file, asked about its entry point and places around; also as its own debug file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct symbols *symbols = NULL;

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	u64 ea[] = { exe->entry_ea, exe->entry_ea + 16, 0x1000, 0x1105, 0x1208, 0x1420, 0, ~0ull };

	if (symbols_build(exe, exe, ea, sizeof(ea) / sizeof(ea[0]), &symbols) == 0 &&
	    symbols_check(symbols, symbols->bytes) < 0)
		abort();
	return 0;
}
