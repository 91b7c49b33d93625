// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_compile.h"
#include "exe/rows_part.h"

#include <stdint.h>

#include "exe/cfi.h"
#include "exe/elf.h"
#include "exe/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *arg, u64 start_ea, u64 end_ea)
{
}

/* What comes out of any bytes keeps the invariants. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows *rows;

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	(void)cfi_each_function(exe, ignore, NULL);
	if (rows_part_sweep(exe, &(struct rows_part){ 3, { 0, 0, 0x20000 } }, &rows) == 0) {
		if (rows_check(rows, rows->bytes) < 0)
			__builtin_trap();
		free(rows);
	}
	if (rows_compile(exe, exe, &rows) < 0)
		return 0;
	if (rows_check(rows, rows->bytes) < 0)
		__builtin_trap();
	for (u64 ea = 0; ea < 0x10000; ea += 0x111)
		(void)rows_find(rows, ea);
	free(rows);
	return 0;
}
