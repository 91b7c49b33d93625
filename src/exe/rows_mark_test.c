// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_mark.h"

#include <errno.h>
#include <stdlib.h>

#include "exe/lang_file.h"
#include "exe/rows.h"
#include "exe/rows_build.h"
#include "test.h"

/* A rule every 0x100 bytes of [0x1000, 0x2000), and one for the page behind. */
static struct rows *some_rows(void)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows = NULL;

	OK(build);
	for (u32 i = 0; i < 16; i++)
		rows_build_add(build, 0x1000 + 0x100 * i, &(struct unwind_rule){ .kind = RULE_CFA, .cfa_off = (s32)i });
	rows_build_add(build, 0x20000, &(struct unwind_rule){ .kind = RULE_END });
	EQ(rows_build_finish(build, 62, 0x1000, &rows), 0);
	rows_build_free(build);
	return rows;
}

TEST(rows_mark_splits_at_the_bounds)
{
	struct lang_file file = { .lang = 3, .mark_count = 2, .marks = { { 0x1180, 0x1350 }, { 0x1fff, 0x20010 } } };
	struct rows *rows = some_rows(), *marked = NULL;

	EQ(rows_mark(rows, &file, &marked), 0);
	EQ(rows_check(marked, marked->bytes), 0);
	for (u64 ea = 0x1000; ea < 0x20020; ea++) {
		const struct unwind_rule *before = rows_find(rows, ea), *after = rows_find(marked, ea);
		u32 lang = (ea >= 0x1180 && ea < 0x1350) || (ea >= 0x1fff && ea < 0x20010) ? 3 : 0;

		if (!before) {
			OK(!after);
			continue;
		}
		EQ(after->kind, before->kind);
		EQ(after->cfa_off, before->cfa_off);
		EQ(after->lang, lang);
	}
	free(rows);
	free(marked);
}

TEST(rows_mark_marks_code_without_rows)
{
	struct lang_file file = { .lang = 3, .mark_count = 2, .marks = { { 0x50010, 0x70020 }, { 0x90000, 0x90001 } } };
	struct rows_build *build = rows_build_new();
	struct rows *rows = NULL, *marked = NULL;

	OK(build);
	rows_build_add(build, 0x10, &(struct unwind_rule){ .kind = RULE_END });
	rows_build_add(build, 0x20, &(struct unwind_rule){ .kind = RULE_NONE });
	rows_build_add(build, 0x80010, &(struct unwind_rule){ .kind = RULE_END });
	rows_build_add(build, 0x80020, &(struct unwind_rule){ .kind = RULE_NONE });
	EQ(rows_build_finish(build, 62, 0x1000, &rows), 0);
	rows_build_free(build);
	EQ(rows_mark(rows, &file, &marked), 0);
	EQ(rows_check(marked, marked->bytes), 0);
	for (u64 ea = 0; ea < 0xa0000; ea++) {
		const struct unwind_rule *before = rows_find(rows, ea), *after = rows_find(marked, ea);
		u32 lang = (ea >= 0x50010 && ea < 0x70020) || ea == 0x90000 ? 3 : 0;

		EQ(after ? after->kind : RULE_NONE, before ? before->kind : RULE_NONE);
		EQ(after ? after->lang : 0, lang);
	}
	free(rows);
	free(marked);
}

TEST(rows_mark_without_marks_changes_nothing)
{
	struct lang_file file = { .lang = 3 };
	struct rows *rows = some_rows(), *marked = NULL;

	EQ(rows_mark(rows, &file, &marked), 0);
	EQ(marked->bytes, rows->bytes);
	OK(!memcmp(marked, rows, rows->bytes));
	free(rows);
	free(marked);
}

TEST(lang_file_check_refuses_what_is_none)
{
	static struct lang_file file = { .lang = 1, .mark_count = 1, .marks = { { 1, 2 } } };

	EQ(lang_file_check(&file, sizeof(file)), 0);
	EQ(lang_file_check(&file, sizeof(file) - 1), -EBADMSG);
	file.marks[0].end_ea = 1;
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
	file.mark_count = LANG_MARKS_MAX + 1;
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
	file = (struct lang_file){ .lang = LANG_NUMBERS_MAX };
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
	file.lang = 0;
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
}
