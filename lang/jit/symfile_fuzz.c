// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/symfile.h"

#include <stdint.h>
#include <stdlib.h>

#include "exe/rows.h"
#include "lang/jit/code_image.h"
#include "lang/jit/code_rows.h"
#include "lang/jit/code_table.h"
#include "lang/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct subject {
	struct lang_process process;
	struct code_table table;
};

static int make(void *arg, const struct code_place *place, struct rows **ret_rows)
{
	struct subject *subject = arg;

	return code_image_rows(&subject->process, &subject->table, place, NULL, ret_rows);
}

/* The file; no memory is there but what it brings. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct subject subject = { .process.is_gone = true };
	struct code_rows code = { 0 };
	struct rows *rows = NULL;

	symfile_take(data, bytes, &subject.process, &subject.table, &code);
	for (u32 i = 1; i < code.count; i++)
		if (code.at[i].place.start_va < code.at[i - 1].place.end_va)
			__builtin_trap();
	if (code.count) {
		u64 start_va = code.at[0].place.start_va, end_va = start_va + (16u << 20);

		if (code_rows_join(&code, start_va, end_va, start_va & ~0xffffull, make, &subject, &rows) == 0 &&
		    rows_check(rows, rows->bytes) < 0)
			__builtin_trap();
	}
	free(rows);
	code_rows_done(&code);
	code_table_done(&subject.table);
	return 0;
}
