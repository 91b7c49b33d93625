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

static void check(struct rows *rows)
{
	if (rows_check(rows, rows->bytes) < 0)
		__builtin_trap();
	for (u64 ea = 0; ea < 0x10000; ea += 0x111)
		(void)rows_find(rows, ea);
	free(rows);
}

/* What comes out of any bytes keeps the invariants. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows *rows;

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	(void)cfi_each_function(exe, ignore, NULL);
	for (int unread = 0; unread < 2; unread++) {
		struct rows_part part = { .count = 3, .ea = { 0, 0, 0x20000 }, .is_unread = unread };

		if (rows_part_compile(exe, &part, &rows) == 0)
			check(rows);
	}
	if (rows_compile_within(exe, exe, 0, &rows) == 0)
		check(rows);
	if (rows_compile(exe, exe, &rows) == 0)
		check(rows);
	return 0;
}
