// SPDX-License-Identifier: Apache-2.0
#include "exe/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define REGS_MAX 32

static bool rule_ok(const struct unwind_rule *rule)
{
	return rule->kind <= RULE_SWITCH && rule->cfa_reg < REGS_MAX && rule->saved >> 4 <= RA_IN_REG &&
	       (rule->saved & 15) <= FP_AT_FP &&
	       (rule->saved >> 4 != RA_IN_REG || (rule->ra_off >= 0 && rule->ra_off < REGS_MAX));
}

static bool page_ok(const struct rows *rows, const struct rows_page *page, u32 first)
{
	const u16 *low = rows_low(rows) + page->first;

	if (page->first != first || !page->count || page->count > ROWS_PER_PAGE_MAX ||
	    page->count > rows->row_count - first || low[0])
		return false;
	for (u32 i = 1; i < page->count; i++)
		if (low[i] <= low[i - 1])
			return false;
	return true;
}

/* The counts make up the size exactly. */
static bool sizes_ok(const struct rows *rows, size_t bytes)
{
	if (bytes < sizeof(*rows) || memcmp(rows->magic, ROWS_MAGIC, sizeof(rows->magic)) || rows->bytes != bytes)
		return false;
	return rows->rule_count <= RULES_MAX && rows->row_count <= ROWS_MAX && rows->page_count <= rows->row_count &&
	       sizeof(*rows) + rows->rule_count * sizeof(struct unwind_rule) +
		rows->page_count * sizeof(struct rows_page) + rows->row_count * 2ull * sizeof(u16) == bytes;
}

int rows_check(const struct rows *rows, size_t bytes)
{
	const struct rows_page *page;
	u32 first = 0;

	if (!sizes_ok(rows, bytes))
		return -EBADMSG;
	for (u32 i = 0; i < rows->rule_count; i++)
		if (!rule_ok(&rows_rules(rows)[i]))
			return -EBADMSG;
	for (u32 i = 0; i < rows->page_count; i++) {
		page = &rows_pages(rows)[i];
		if ((i && page->number <= page[-1].number) || !page_ok(rows, page, first))
			return -EBADMSG;
		first += page->count;
	}
	if (first != rows->row_count)
		return -EBADMSG;
	for (u32 i = 0; i < rows->row_count; i++)
		if (rows_rule(rows)[i] >= rows->rule_count)
			return -EBADMSG;
	return 0;
}

static const struct rows_page *find_page(const struct rows *rows, u64 number)
{
	const struct rows_page *pages = rows_pages(rows);
	u32 lo = 0, hi = rows->page_count;

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
	const struct rows_page *page = find_page(rows, ea >> ROWS_PAGE_SHIFT);
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
