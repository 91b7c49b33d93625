// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_compile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "exe/elf.h"
#include "exe/rows.h"
#include "forge.h"
#include "test.h"

TEST(compile_gives_rows_for_its_own_program)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(exe_freep) struct exe *exe = NULL;
	const struct unwind_rule *rule;
	struct rows *rows;

	EQ(exe_map(fd, &exe), 0);
	EQ(rows_compile(exe, NULL, &rows), 0);
	EQ(rows_check(rows, rows->bytes), 0);
	EQ(rows->dropped_count, 0);
	rule = rows_find(rows, exe->entry_ea);
	OK(rule);
	EQ(rule->kind, RULE_END);
	free(rows);
}
