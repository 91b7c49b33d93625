// SPDX-License-Identifier: Apache-2.0
#include "lang/go/go_tables.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/lines.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "lang/go/go_file.h"
#include "lang/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const void *tables, struct lines_builder *builder)
{
	struct lang_function function;

	for (u64 ea = 0xf00; ea < 0x2100; ea += 0x21) {
		(void)go_tables_ops.function(tables, ea, &function);
		(void)go_tables_ops.lines(tables, ea, builder);
		lines_next(builder);
	}
}

/* What comes out of any bytes keeps the invariants. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct exe_lines *lines = NULL;
	_cleanup_(freep) struct rows *rows = NULL;
	struct lines_builder builder;
	struct lang_file file = { .lang = 0 };
	void *tables;

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	exe->langs = lang_files;
	if (go_file_ops.recognise(exe, &file) == 0 && file.mark_count > LANG_MARKS_MAX)
		abort();
	if (go_tables_ops.open(exe, &tables) < 0)
		return 0;
	lines_init(&builder);
	look_up(tables, &builder);
	if (lines_finish(&builder, 0, &lines) == 0 && exe_lines_check(lines, lines->bytes) < 0)
		abort();
	lines_done(&builder);
	go_tables_ops.close(tables);
	if (rows_compile(exe, NULL, &rows) == 0 && rows_check(rows, rows->bytes) < 0)
		abort();
	return 0;
}
