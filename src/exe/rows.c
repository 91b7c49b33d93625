// SPDX-License-Identifier: Apache-2.0
#include "exe/rows.h"

#include <errno.h>
#include <string.h>

#define REGS_MAX 32

bool rows_rule_ok(const struct unwind_rule *rule)
{
	return rule->kind <= RULE_SWEPT_DEREF && rule->cfa_reg < REGS_MAX && rule->saved >> 4 <= RA_IN_REG &&
	       (rule->saved & 15) <= FP_AT_FP &&
	       (rule->saved >> 4 != RA_IN_REG || (rule->ra_off >= 0 && rule->ra_off < REGS_MAX));
}

bool rows_head_ok(const struct rows *rows, size_t bytes)
{
	if (memcmp(rows->magic, ROWS_MAGIC, sizeof(rows->magic)) || rows->bytes != bytes)
		return false;
	return rows->rule_count <= RULES_MAX && rows->row_count <= ROWS_MAX && rows->page_count <= rows->row_count &&
	       sizeof(*rows) + rows->rule_count * sizeof(struct unwind_rule) +
		rows->page_count * sizeof(struct rows_page) + rows->row_count * 2ull * sizeof(u16) == bytes;
}

bool rows_pages_ok(const struct rows *rows, const struct rows_page *pages)
{
	u32 first = 0;

	for (u32 i = 0; i < rows->page_count; i++) {
		const struct rows_page *page = &pages[i];

		if ((i && page->number <= page[-1].number) || page->first != first || !page->count ||
		    page->count > ROWS_PER_PAGE_MAX || page->count > rows->row_count - first)
			return false;
		first += page->count;
	}
	return first == rows->row_count;
}

bool rows_ok(const u16 *low, const u16 *rule, u32 count, u32 rule_count)
{
	if (low[0])
		return false;
	for (u32 i = 0; i < count; i++)
		if ((i && low[i] <= low[i - 1]) || rule[i] >= rule_count)
			return false;
	return true;
}

int rows_check(const struct rows *rows, size_t bytes)
{
	const struct rows_page *pages;

	if (bytes < sizeof(*rows) || !rows_head_ok(rows, bytes))
		return -EBADMSG;
	for (u32 i = 0; i < rows->rule_count; i++)
		if (!rows_rule_ok(&rows_rules(rows)[i]))
			return -EBADMSG;
	pages = rows_pages(rows);
	if (!rows_pages_ok(rows, pages))
		return -EBADMSG;
	for (u32 i = 0; i < rows->page_count; i++)
		if (!rows_ok(rows_low(rows) + pages[i].first, rows_rule(rows) + pages[i].first, pages[i].count,
			     rows->rule_count))
			return -EBADMSG;
	return 0;
}

const struct rows_page *rows_pages_find(const struct rows_page *pages, u32 count, u64 number)
{
	u32 lo = 0, hi = count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (pages[mid].number == number)
			return &pages[mid];
		if (pages[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct unwind_rule *rows_find(const struct rows *rows, u64 ea)
{
	const struct rows_page *page = rows_pages_find(rows_pages(rows), rows->page_count, ea >> ROWS_PAGE_SHIFT);
	u32 lo, hi;

	if (!page)
		return NULL;
	/* The last row at or before ea: low[lo] <= ea < low[hi]. */
	lo = page->first;
	hi = page->first + page->count;
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (rows_low(rows)[mid] <= (ea & 0xffff))
			lo = mid;
		else
			hi = mid;
	}
	return &rows_rules(rows)[rows_rule(rows)[lo]];
}
