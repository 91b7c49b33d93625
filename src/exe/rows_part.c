// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_part.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_build.h"
#include "exe/rows_compile.h"
#include "exe/rows_file.h"
#include "exe/sweep.h"

#define PAGE_BYTES (1u << ROWS_PAGE_SHIFT)

/* The rows of one page. */
struct page {
	const struct rows_file *file;
	u64 number;
	u32 count;
	u16 low[ROWS_PER_PAGE_MAX], rule[ROWS_PER_PAGE_MAX];
};

static bool read_page(struct page *page, u64 number)
{
	const struct rows_page *at = rows_file_find(page->file, number);

	page->number = number;
	page->count = at ? at->count : 0;
	return at && rows_file_page(page->file, at, page->low, page->rule) == 0;
}

static bool is_unswept(const struct page *page, u32 i)
{
	return i < page->count && page->rule[i] == rows_file_head(page->file)->unswept;
}

static u64 row_ea(const struct page *page, u32 i)
{
	return (page->number << ROWS_PAGE_SHIFT) + (i < page->count ? page->low[i] : PAGE_BYTES);
}

/* How far the stretch that reaches the start of a page goes back. */
static u64 stretch_start(struct page *page, u64 number)
{
	u64 start = number << ROWS_PAGE_SHIFT;

	for (u32 i = 0; i < ROWS_PART_BEFORE && number--; i++) {
		if (!read_page(page, number) || !is_unswept(page, page->count - 1))
			break;
		start = row_ea(page, page->count - 1);
		if (page->count > 1)
			break;
	}
	return start;
}

static u64 stretch_end(struct page *page, u64 number)
{
	u64 end = (number + 1) << ROWS_PAGE_SHIFT;

	for (u32 i = 0; i < ROWS_PART_BEHIND; i++) {
		if (!read_page(page, ++number) || !is_unswept(page, 0))
			break;
		end = row_ea(page, 1);
		if (page->count > 1)
			break;
	}
	return end;
}

/* The stretches of a page that was read; true if one of them is at ea. */
static bool add_stretches(const struct page *page, u64 ea, struct rows_part *part)
{
	bool found = false;

	for (u32 i = 0; i < page->count && part->count + 2 <= ROWS_PART_EAS_MAX; i++) {
		if (!is_unswept(page, i))
			continue;
		part->ea[part->count++] = row_ea(page, i);
		part->ea[part->count++] = row_ea(page, i + 1);
		found |= ea >= row_ea(page, i) && ea < row_ea(page, i + 1);
	}
	return found;
}

bool rows_part_is_unread(const struct rows_file *file)
{
	u32 number = rows_file_head(file)->unswept;
	struct unwind_rule rule;

	return number && rows_file_rule(file, number, &rule) == 0 && rows_is_unread(&rule);
}

bool rows_part_is_in(const struct rows_file *file, const struct rows_page *at)
{
	_cleanup_(freep) struct page *page = malloc(sizeof(*page));
	bool found = false;

	if (!page)
		return false;
	page->file = file;
	if (!read_page(page, at->number))
		return false;
	for (u32 i = 0; i < page->count && !found; i++)
		found = is_unswept(page, i);
	return found;
}

bool rows_part_find(const struct rows_file *file, u64 ea, struct rows_part *ret_part)
{
	_cleanup_(freep) struct page *page = malloc(sizeof(*page));
	struct rows_part part = { .is_unread = rows_part_is_unread(file), .count = 1,
				  .ea[0] = ea >> ROWS_PAGE_SHIFT << ROWS_PAGE_SHIFT };
	u64 number = ea >> ROWS_PAGE_SHIFT;

	if (!page || !rows_file_head(file)->unswept)
		return false;
	page->file = file;
	if (!read_page(page, number) || !add_stretches(page, ea, &part))
		return false;
	if (part.ea[1] == part.ea[0])
		part.ea[1] = stretch_start(page, number);
	if (part.ea[part.count - 1] == part.ea[0] + PAGE_BYTES)
		part.ea[part.count - 1] = stretch_end(page, number);
	*ret_part = part;
	return true;
}

static bool part_is_ok(const struct rows_part *part)
{
	const u64 *ea = part->ea;

	if (part->count < 3 || part->count % 2 == 0 || part->count > ROWS_PART_EAS_MAX || ea[0] % PAGE_BYTES ||
	    ea[0] > FRAME_EA_MASK || ea[part->count - 1] > ea[0] + (1 + ROWS_PART_BEHIND) * PAGE_BYTES)
		return false;
	for (u32 i = 1; i + 1 < part->count; i++)
		if (ea[i] > ea[i + 1])
			return false;
	return ea[1] + ROWS_PART_BEFORE * PAGE_BYTES >= ea[0];
}

/* Where to begin in the first stretch, which may reach far back. */
static u64 part_start(struct sweep *sweep, const struct rows_part *part)
{
	u64 near_ea = part->ea[0] - ROWS_PART_NEAR * PAGE_BYTES, function_ea;

	if (part->ea[1] + ROWS_PART_NEAR * PAGE_BYTES >= part->ea[0])
		return part->ea[1];
	function_ea = sweep_function_before(sweep, part->ea[0]);
	return function_ea && function_ea < near_ea ? function_ea : near_ea;
}

static int part_sweep(const struct exe *exe, const struct rows_part *part, struct rows **ret_rows)
{
	static const struct unwind_rule none = { .kind = RULE_NONE };
	_cleanup_(rows_build_freep) struct rows_build *build = NULL;
	_cleanup_(sweep_freep) struct sweep *sweep = NULL;

	if (exe->machine != EM_X86_64 || exe->elf_class != ELFCLASS64)
		return -EBADMSG;
	build = rows_build_new();
	sweep = sweep_new(exe, part->ea[1], part->ea[part->count - 1]);
	if (!build || !sweep)
		return -ENOMEM;
	rows_build_set_part(build, part->ea[0], part->ea[0] + PAGE_BYTES);
	for (u32 i = 1; i + 1 < part->count; i += 2) {
		u64 start_ea = i == 1 ? part_start(sweep, part) : part->ea[i];
		int r = sweep_range(sweep, start_ea, part->ea[i + 1], rows_build_tell, build);

		if (r == -ENOMEM)
			return r;
		rows_build_tell(build, part->ea[r < 0 ? i : i + 1], &none);
	}
	return rows_build_finish(build, exe->machine, 0, ret_rows);
}

int rows_part_compile(const struct exe *exe, const struct rows_part *part, struct rows **ret_rows)
{
	u64 near_ea = part->ea[0] - ROWS_PART_NEAR * PAGE_BYTES;

	if (!part_is_ok(part))
		return -EBADMSG;
	if (!part->is_unread)
		return part_sweep(exe, part, ret_rows);
	if (near_ea > part->ea[0] || near_ea < part->ea[1])
		near_ea = part->ea[1];
	return rows_compile_page(exe, part->ea[0], near_ea, part->ea[part->count - 1], ret_rows);
}

/* The number of the rule that holds at an address; *at is the row that held before. */
static u16 rule_at(const struct rows_list *list, u32 *at, u32 low)
{
	while (*at + 1 < list->count && list->low[*at + 1] <= low)
		(*at)++;
	return list->count ? list->rule[*at] : 0;
}

static u32 next_low(const struct rows_list *list, u32 at)
{
	return at + 1 < list->count ? list->low[at + 1] : PAGE_BYTES;
}

bool rows_part_merge(const struct rows_list *first, const struct rows_list *second, struct rows_list *ret_list)
{
	u32 a = 0, b = 0, count = 0;

	for (u32 low = 0, next; low < PAGE_BYTES; low = next) {
		u16 of_first = rule_at(first, &a, low), of_second = rule_at(second, &b, low);
		u16 rule = of_first ? of_first : of_second;

		next = next_low(first, a) < next_low(second, b) ? next_low(first, a) : next_low(second, b);
		if (count && ret_list->rule[count - 1] == rule)
			continue;
		if (count == ret_list->count)
			return false;
		ret_list->low[count] = (u16)low;
		ret_list->rule[count++] = rule;
	}
	ret_list->count = count;
	return true;
}
