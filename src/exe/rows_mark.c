// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_mark.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "exe/lang_file.h"
#include "exe/rows.h"
#include "exe/rows_build.h"

/* The language of an address, and the first address behind it where that may change. */
static u32 lang_at(const struct lang_file *file, u64 ea, u64 *ret_end_ea)
{
	u32 lang = 0;

	*ret_end_ea = UINT64_MAX;
	for (u32 i = 0; i < file->mark_count; i++) {
		const struct lang_mark *mark = &file->marks[i];

		if (ea >= mark->start_ea && ea < mark->end_ea) {
			lang = file->lang;
			*ret_end_ea = mark->end_ea < *ret_end_ea ? mark->end_ea : *ret_end_ea;
		} else if (ea < mark->start_ea && mark->start_ea < *ret_end_ea) {
			*ret_end_ea = mark->start_ea;
		}
	}
	return lang;
}

/* One rule for [ea, end_ea), in as many rows as marks make of it. */
static void add_range(struct rows_build *build, const struct lang_file *file, u64 ea, u64 end_ea,
		      const struct unwind_rule *rule)
{
	while (ea < end_ea) {
		struct unwind_rule marked = *rule;
		u64 next_ea;

		marked.lang = (u8)lang_at(file, ea, &next_ea);
		rows_build_add(build, ea, &marked);
		ea = next_ea;
	}
}

int rows_mark(const struct rows *rows, const struct lang_file *file, struct rows **ret_rows)
{
	_cleanup_(rows_build_freep) struct rows_build *build = rows_build_new();
	const struct unwind_rule *rules = rows_rules(rows), none = { .kind = RULE_NONE };
	u64 end_ea = 0;		/* of the page before */

	if (!build)
		return -ENOMEM;
	rows_build_drop(build, rows->dropped_count);
	for (u32 p = 0; p < rows->page_count; p++) {
		const struct rows_page *page = &rows_pages(rows)[p];
		const u16 *low = rows_low(rows) + page->first, *rule = rows_rule(rows) + page->first;
		u64 base = (u64)page->number << ROWS_PAGE_SHIFT;

		/* Pages without rows may be marked, too: code that no compiler has made has none. */
		add_range(build, file, end_ea, base, &none);
		for (u32 i = 0; i < page->count; i++)
			add_range(build, file, base + low[i],
				  base + (i + 1 < page->count ? low[i + 1] : 1u << ROWS_PAGE_SHIFT), &rules[rule[i]]);
		end_ea = base + (1u << ROWS_PAGE_SHIFT);
	}
	add_range(build, file, end_ea, UINT64_MAX, &none);
	return rows_build_finish(build, rows->machine, rows->text_bytes, ret_rows);
}

int rows_mark_file(const struct exe *exe, struct rows **rows)
{
	_cleanup_(freep) struct lang_file *file = calloc(1, sizeof(*file));
	struct rows *marked;
	int r;

	if (!file)
		return -ENOMEM;
	if (lang_file_find(exe, NULL, file) < 0 || !file->mark_count)
		return 0;
	r = rows_mark(*rows, file, &marked);
	if (r < 0)
		return r;
	free(*rows);
	*rows = marked;
	return 0;
}
