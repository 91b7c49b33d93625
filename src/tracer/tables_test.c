// SPDX-License-Identifier: Apache-2.0
/* Tables of our own memory; those of maps are filled by test/record.sh and all others that record. */
#include "tracer/tables.h"

#include <errno.h>

#include "test.h"
#include "tracer/rows_test.h"

/* Rows of one page, at ELF addresses from 0x20000 on: one rule, then another from 0x20100 on. */
static struct {
	struct rows head;
	struct unwind_rule rules[2];
	struct rows_page page;
	u16 low[2], rule[2];
} file = {
	.head = { .magic = ROWS_MAGIC, .bytes = sizeof(file), .rule_count = 2, .page_count = 1, .row_count = 2 },
	.rules = { { .kind = RULE_END }, { .kind = RULE_CFA, .cfa_off = 16 } },
	.page = { .number = 2, .count = 2 },
	.low = { 0, 0x100 },
	.rule = { 1, 0 },
};

TEST(tables_need_no_kernel_half)
{
	const struct map_entry map = { .start_va = 0x1000, .end_va = 0x2000, .bias = 7 };
	const struct page_entry *page;
	struct row_pages_range rows, again;
	struct tables *tables;
	u32 first, second;

	EQ(tables_new(NULL, sizeof(struct rows_chunk), &tables), 0);
	EQ(tables_add_rows(tables, copied_rows(&file.head), 0x20000, 0x21000, &rows), 0);
	page = tables_need_page(tables, tables_page_base(&rows) + (0x20123 >> PAGE_ROWS_SHIFT));
	EQ(page->count, 2);
	EQ(tables_chunk(tables, page->chunk)->low[page->first + 1], 0x100);
	EQ(tables_rule(tables, tables_chunk(tables, page->chunk)->rule[page->first])->cfa_off, 16);
	EQ(tables_add_maps(tables, 0, &map, 1, &first), 0);
	EQ(tables_map(tables, first)->bias, 7);

	/* What is dropped is used again once its time is over. */
	tables_drop_rows(tables, &rows, 0);
	tables_drop_maps(tables, first, 1, 0);
	EQ(tables_add_maps(tables, 0, &map, 1, &second), 0);
	OK(second != first);
	tables_collect(tables, 10000000000ull);
	EQ(tables_add_maps(tables, 0, &map, 1, &second), 0);
	EQ(second, first);
	EQ(tables_add_rows(tables, copied_rows(&file.head), 0x20000, 0x21000, &again), 0);
	EQ(again.first, rows.first);
	tables_free(tables);
}

TEST(tables_keep_room_for_other_users)
{
	static struct map_entry many[PROC_MAPS_MAX];
	struct tables *tables;
	u32 first, taken = 0, last = 0;

	EQ(tables_new(NULL, sizeof(struct rows_chunk), &tables), 0);
	while (tables_add_maps(tables, 1000, many, 4000, &last) == 0)
		taken++;
	EQ(taken, (MAPTAB_MAX - MAPTAB_MAX / 4) / 4000);
	for (u32 i = 0; i < 2; i++)
		EQ(tables_add_maps(tables, i, many, 4000, &first), 0);
	EQ(tables_stats(tables).maps_shares, 1);
	EQ(tables_add_maps(tables, 1000, many, 1, &first), -ENOSPC);
	/* Who gives back may take again. */
	tables_drop_maps(tables, last, 4000, 0);
	tables_collect(tables, 10000000000ull);
	EQ(tables_add_maps(tables, 7, many, 4000, &first), 0);
	tables_free(tables);
}
