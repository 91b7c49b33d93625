// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_build.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "exe/rows.h"

#define SLOT_COUNT (2 * RULES_MAX)
#define NONE 0		/* the number of RULE_NONE */
#define EA_LIMIT (1ull << 48)

struct rows_build {
	struct unwind_rule rules[RULES_MAX];
	u16 slots[SLOT_COUNT];		/* rule + 1, or 0 */
	u32 rule_count;
	struct rows_page *pages;
	u32 page_count, page_cap;
	u16 *low, *rule;
	u32 row_count, row_cap;
	u64 start_ea, end_ea;		/* of the part that is wanted */
	u64 ea;				/* of the last rule told */
	u16 current;			/* its number */
	u32 dropped_count;
	u16 unswept;			/* number of ROWS_UNSWEPT or ROWS_UNREAD */
	int err;
};

struct rows_build *rows_build_new(void)
{
	struct rows_build *build = calloc(1, sizeof(*build));

	if (!build)
		return NULL;
	build->rule_count = 1;
	build->end_ea = UINT64_MAX;
	return build;
}

void rows_build_free(struct rows_build *build)
{
	if (!build)
		return;
	free(build->pages);
	free(build->low);
	free(build->rule);
	free(build);
}

void rows_build_set_part(struct rows_build *build, u64 start_ea, u64 end_ea)
{
	build->start_ea = start_ea;
	build->end_ea = end_ea;
}

void rows_build_tell(void *arg, u64 ea, const struct unwind_rule *rule)
{
	struct rows_build *build = arg;

	if (ea < build->end_ea)
		rows_build_add(build, ea < build->start_ea ? build->start_ea : ea, rule);
}

void rows_build_drop(struct rows_build *build, u32 count)
{
	build->dropped_count += count;
}

static u32 hash_rule(const struct unwind_rule *rule)
{
	u64 half[2];

	memcpy(half, rule, sizeof(half));
	return ((half[0] ^ half[1] * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93) >> 32;
}

/* The number of a rule; NONE where the table is full. */
static u16 number_rule(struct rows_build *build, const struct unwind_rule *rule)
{
	u32 i = hash_rule(rule) % SLOT_COUNT;

	if (rule->kind == RULE_NONE && !rule->lang && !rows_is_unswept(rule))
		return NONE;
	for (; build->slots[i]; i = (i + 1) % SLOT_COUNT)
		if (!memcmp(&build->rules[build->slots[i] - 1], rule, sizeof(*rule)))
			return build->slots[i] - 1;
	if (build->rule_count == RULES_MAX) {
		build->dropped_count++;
		return NONE;
	}
	if (rows_is_unswept(rule) && !rule->lang)
		build->unswept = (u16)build->rule_count;
	build->rules[build->rule_count] = *rule;
	build->slots[i] = ++build->rule_count;
	return build->rule_count - 1;
}

static bool grow(struct rows_build *build, void **array, size_t item_bytes, u32 cap)
{
	void *grown = reallocarray(*array, cap, item_bytes);

	if (!grown) {
		build->err = -ENOMEM;
		return false;
	}
	*array = grown;
	return true;
}

static bool reserve_row(struct rows_build *build)
{
	u32 cap = build->row_cap ? build->row_cap + build->row_cap / 2 : 4096;

	if (build->row_count < build->row_cap)
		return true;
	if (!grow(build, (void **)&build->low, sizeof(*build->low), cap) ||
	    !grow(build, (void **)&build->rule, sizeof(*build->rule), cap))
		return false;
	build->row_cap = cap;
	return true;
}

static struct rows_page *last_page(struct rows_build *build)
{
	return build->page_count ? &build->pages[build->page_count - 1] : NULL;
}

static void append_row(struct rows_build *build, u16 low, u16 rule)
{
	struct rows_page *page = last_page(build);

	assert(page);	/* whoever adds a row has begun one */
	if (page->count == ROWS_PER_PAGE_MAX || build->row_count == ROWS_MAX) {
		/* Not the wrong rule of the row before, but none. */
		build->rule[build->row_count - 1] = NONE;
		build->dropped_count++;
		return;
	}
	if (!reserve_row(build))
		return;
	build->low[build->row_count] = low;
	build->rule[build->row_count++] = rule;
	page->count++;
}

/* Opens a page whose start has that rule. False past a limit. */
static bool open_page(struct rows_build *build, u64 number, u16 rule)
{
	u32 cap = build->page_cap ? 2 * build->page_cap : 64;

	if (build->page_count == ROWS_PAGES_MAX || build->row_count == ROWS_MAX) {
		build->dropped_count++;
		return false;
	}
	if (build->page_count == build->page_cap) {
		if (!grow(build, (void **)&build->pages, sizeof(*build->pages), cap))
			return false;
		build->page_cap = cap;
	}
	if (!reserve_row(build))
		return false;
	build->pages[build->page_count++] = (struct rows_page){ .number = number, .first = build->row_count };
	append_row(build, 0, rule);
	return true;
}

/* Carries the current rule on through the pages before the one with that number. */
static bool carry_on(struct rows_build *build, u64 number)
{
	const struct rows_page *page = last_page(build);

	for (u64 next = page ? page->number + 1ull : 0; build->current != NONE && next < number; next++)
		if (!open_page(build, next, build->current))
			return false;
	return true;
}

/* True if a page is open and its last row is at that address. */
static bool at_last_row(struct rows_build *build, u64 ea)
{
	const struct rows_page *page = last_page(build);

	return page && page->number == ea >> ROWS_PAGE_SHIFT && build->low[build->row_count - 1] == (ea & 0xffff);
}

/* Adds the row; the page it is in may have to be opened first. False if that cannot be. */
static bool add_row(struct rows_build *build, u64 ea, u16 rule)
{
	u64 number = ea >> ROWS_PAGE_SHIFT;
	struct rows_page *page;

	if (!carry_on(build, number))
		return false;
	page = last_page(build);
	if (!page || page->number != number) {
		if (!(ea & 0xffff))
			return rule == NONE || open_page(build, number, rule);
		if (!open_page(build, number, build->current))
			return false;
	}
	append_row(build, ea & 0xffff, rule);
	return true;
}

void rows_build_add(struct rows_build *build, u64 ea, const struct unwind_rule *rule)
{
	u16 number = number_rule(build, rule);

	if (build->err || number == build->current)
		return;
	if (ea < build->ea || ea >= EA_LIMIT) {
		build->dropped_count++;
		return;
	}
	if (at_last_row(build, ea))
		build->rule[build->row_count - 1] = number;
	else if (!add_row(build, ea, number))
		return;
	build->ea = ea;
	build->current = number;
}

int rows_build_finish(const struct rows_build *build, u16 machine, u64 text_bytes, struct rows **ret_rows)
{
	size_t rules_bytes = build->rule_count * sizeof(*build->rules);
	size_t pages_bytes = build->page_count * sizeof(*build->pages);
	size_t rows_bytes = build->row_count * sizeof(u16);
	size_t bytes = sizeof(struct rows) + rules_bytes + pages_bytes + 2 * rows_bytes;
	struct rows *rows;

	if (build->err)
		return build->err;
	if (!build->row_count)
		return -ENODATA;
	rows = malloc(bytes);
	if (!rows)
		return -ENOMEM;
	*rows = (struct rows){
		.magic = ROWS_MAGIC, .bytes = bytes, .machine = machine, .rule_count = build->rule_count,
		.page_count = build->page_count, .row_count = build->row_count, .dropped_count = build->dropped_count,
		.unswept = build->unswept, .text_bytes = text_bytes,
	};
	memcpy((void *)rows_rules(rows), build->rules, rules_bytes);
	memcpy((void *)rows_pages(rows), build->pages, pages_bytes);
	memcpy((void *)rows_low(rows), build->low, rows_bytes);
	memcpy((void *)rows_rule(rows), build->rule, rows_bytes);
	*ret_rows = rows;
	return 0;
}
