// SPDX-License-Identifier: Apache-2.0
/* In memory of our own: what a kernel half would do is done by hand. */
#include "tracer/row_pages.h"

#include <errno.h>

#include "exe/rows_build.h"
#include "exe/rows_part.h"
#include "test.h"
#include "tracer/rows_test.h"

#define CHUNK_BYTES ((u32)sizeof(struct rows_chunk))
#define PAGE_ROWS 8192u
#define PAGES_OF_CHUNK (CHUNK_ROWS / PAGE_ROWS)

/* A file of so many pages with PAGE_ROWS rows each; rows of page n have CFA offsets from 1000 * n on. */
static struct rows_file *make_file(u32 page_count)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	for (u32 page = 0; page < page_count; page++)
		for (u32 i = 0; i < PAGE_ROWS; i++)
			rows_build_add(build, page * 0x10000 + i * 8,
				       &(struct unwind_rule){ .kind = RULE_CFA,
							      .cfa_off = (s32)(1000 * page + i % 2) });
	EQ(rows_build_finish(build, 62, 0, &rows), 0);
	rows_build_free(build);
	return rows_file_of(rows);
}

static struct row_pages *make_pages(u32 chunks, u32 page_count, struct row_pages_range *ret_range)
{
	struct row_pages *pages;

	EQ(row_pages_new(NULL, chunks * CHUNK_BYTES, &pages), 0);
	EQ(row_pages_add(pages, make_file(page_count), 0, page_count * 0x10000ull, ret_range), 0);
	return pages;
}

/* The CFA offset that a page's third row says, as whoever needs it finds it. */
static s32 look_up(struct row_pages *pages, u32 index)
{
	const struct page_entry *entry = row_pages_need(pages, index);
	const struct rows_chunk *chunk;

	OK(entry && entry->count == PAGE_ROWS);
	chunk = row_pages_chunk(pages, entry->chunk);
	EQ(chunk->low[entry->first + 2], 16);
	return row_pages_rule(pages, chunk->rule[entry->first + 2])->cfa_off;
}

static bool is_here(const struct row_pages *pages, u32 index)
{
	return row_pages_at(pages, index)->count > 0;
}

TEST(row_pages_come_when_they_are_needed)
{
	struct row_pages_range range;
	struct row_pages *pages = make_pages(8, 3 * PAGES_OF_CHUNK, &range);

	OK(!is_here(pages, range.first + 5));
	EQ(row_pages_at(pages, range.first + 5)->chunk, PAGE_ABSENT);
	EQ(row_pages_stats(pages).installed, 0);
	EQ(look_up(pages, range.first + 5), 5000);
	OK(is_here(pages, range.first + 5));
	OK(!is_here(pages, range.first + 6));
	EQ(row_pages_stats(pages).installed, 1);
	EQ(row_pages_stats(pages).used_bytes, PAGE_ROWS * 4);
	EQ(look_up(pages, range.first + 5), 5000);
	EQ(row_pages_stats(pages).installed, 1);
	row_pages_free(pages);
}

TEST(row_pages_of_a_small_file_come_at_once)
{
	struct row_pages_range small, large;
	struct row_pages *pages = make_pages(8, 2, &small);

	OK(is_here(pages, small.first) && is_here(pages, small.first + 1));
	EQ(row_pages_add(pages, make_file(2 * PAGES_OF_CHUNK), 0, 2 * PAGES_OF_CHUNK * 0x10000ull, &large), 0);
	OK(!is_here(pages, large.first));
	row_pages_free(pages);
}

TEST(row_pages_past_the_memory_make_room_by_age)
{
	struct row_pages_range range;
	u32 chunks = 8, count = 4 * chunks * PAGES_OF_CHUNK;
	struct row_pages *pages = make_pages(chunks, count, &range);

	for (u32 i = 0; i < count; i++) {
		EQ(look_up(pages, range.first + i), 1000 * (s32)i);
		EQ(look_up(pages, range.first + 3), 3000);	/* all the time */
		((struct page_entry *)row_pages_at(pages, range.first + 3))->used = 1;
		row_pages_collect(pages, i);
		OK(is_here(pages, range.first + 3));
		OK(row_pages_stats(pages).bytes <= chunks * CHUNK_BYTES);
	}
	EQ(row_pages_stats(pages).borrowed, 0);
	EQ(row_pages_stats(pages).installed, count);	/* the one in use stayed */
	OK(row_pages_stats(pages).evicted >= count - chunks * PAGES_OF_CHUNK);
	OK(!is_here(pages, range.first));
	EQ(look_up(pages, range.first), 0);
	row_pages_free(pages);
}

TEST(row_pages_without_room_serve_the_stack_at_hand)
{
	struct row_pages_range range;
	struct row_pages *pages = make_pages(1, 2 * PAGES_OF_CHUNK, &range);

	for (u32 i = 0; i < 2 * PAGES_OF_CHUNK; i++)
		EQ(look_up(pages, range.first + i), 1000 * (s32)i);
	EQ(row_pages_stats(pages).installed, PAGES_OF_CHUNK);
	EQ(row_pages_stats(pages).borrowed, PAGES_OF_CHUNK);
	EQ(row_pages_at(pages, range.first + PAGES_OF_CHUNK)->chunk, PAGE_ABSENT);
	row_pages_free(pages);
}

TEST(row_pages_of_a_file_that_went_are_nobodys)
{
	struct row_pages_range range, other;
	struct row_pages *pages = make_pages(4, 3, &range);

	EQ(look_up(pages, range.first + 1), 1000);
	row_pages_give(pages, range.first);
	EQ(row_pages_stats(pages).used_bytes, 0);
	EQ(row_pages_at(pages, range.first + 1)->chunk, 0);
	EQ(row_pages_at(pages, range.first + 1)->count, 0);
	EQ(row_pages_add(pages, make_file(1), 0, 0x10000, &other), 0);
	EQ(other.first, range.first);
	EQ(look_up(pages, other.first), 0);
	OK(!row_pages_need(pages, PAGES_MAX));
	row_pages_free(pages);
}

TEST(row_pages_refuse_files_past_their_table)
{
	struct row_pages_range range;
	struct row_pages *pages = make_pages(1, 1, &range);

	EQ(row_pages_add(pages, make_file(1), 0, 3ull << 30, &range), -E2BIG);
	for (u32 i = 0; i < 3; i++)
		EQ(row_pages_add(pages, make_file(1), 0, 2ull << 30, &range), 0);
	EQ(row_pages_add(pages, make_file(1), 0, 2ull << 30, &range), -ENOSPC);
	EQ(row_pages_stats(pages).files_full, 1);
	row_pages_free(pages);
}

/* The CFA offset at an address, 0 where there is no rule. */
static s32 offset_at(struct row_pages *pages, const struct row_pages_range *range, u64 ea)
{
	const struct page_entry *entry = row_pages_need(pages, range->first + (u32)(ea >> 16));
	const struct rows_chunk *chunk = entry ? row_pages_chunk(pages, entry->chunk) : NULL;
	u32 i = entry ? entry->first + entry->count : 0;

	while (i-- && entry && i >= entry->first)
		if (chunk->low[i] <= (ea & 0xffff))
			return row_pages_rule(pages, chunk->rule[i])->cfa_off;
	return 0;
}

/* Page 0 has rules, but for what was left for later from 0x8000 on; and so was all of page 1. */
static struct rows_file *make_open_file(const struct unwind_rule *later)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	rows_build_add(build, 0, &(struct unwind_rule){ .kind = RULE_CFA, .cfa_off = 8 });
	rows_build_add(build, 0x8000, later);
	rows_build_add(build, 0x20000, &(struct unwind_rule){ .kind = RULE_NONE });
	EQ(rows_build_finish(build, 62, 0, &rows), 0);
	rows_build_free(build);
	return rows_file_of(rows);
}

static struct rows_file *make_part(u64 ea)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	rows_build_add(build, ea, &(struct unwind_rule){ .kind = RULE_SWEPT, .cfa_off = 16 });
	EQ(rows_build_finish(build, 62, 0, &rows), 0);
	rows_build_free(build);
	return rows_file_of(rows);
}

TEST(row_pages_of_code_that_was_left_for_later_wait_for_it)
{
	struct row_pages_range range;
	struct row_pages *pages;
	struct rows_file *part;
	struct rows_part wanted;

	EQ(row_pages_new(NULL, 4 * CHUNK_BYTES, &pages), 0);
	EQ(row_pages_add(pages, make_open_file(&ROWS_UNSWEPT), 0, 0x20000, &range), 0);
	EQ(offset_at(pages, &range, 0x8000), 0);
	EQ(row_pages_want_part(pages, range.first, 0x7fff, &wanted), ROW_PART_NONE);
	EQ(row_pages_want_part(pages, range.first, 0x9000, &wanted), ROW_PART_WANTED);
	EQ(wanted.ea[1], 0x8000);
	EQ(row_pages_want_part(pages, range.first, 0x9000, &wanted), ROW_PART_COMING);
	EQ(offset_at(pages, &range, 0x10), 8);			/* for the stack at hand ... */
	EQ(row_pages_at(pages, range.first)->chunk, PAGE_ABSENT);	/* ... and nobody else */
	part = make_part(0x8000);
	row_pages_put_part(pages, range.first, 0, part);
	row_pages_put_part(pages, range.first, 7, part);
	rows_file_free(part);
	EQ(offset_at(pages, &range, 0x10), 8);
	EQ(offset_at(pages, &range, 0x9000), 16);
	EQ(row_pages_at(pages, range.first)->count, 2);
	EQ(row_pages_want_part(pages, range.first, 0x9000, &wanted), ROW_PART_NONE);
	EQ(row_pages_stats(pages).parts_swept, 1);
	row_pages_free(pages);
}

TEST(row_pages_do_without_parts_that_are_not_to_be_had)
{
	struct row_pages_range range;
	struct row_pages *pages;
	struct rows_part wanted;

	EQ(row_pages_new(NULL, 4 * CHUNK_BYTES, &pages), 0);
	EQ(row_pages_add(pages, make_open_file(&ROWS_UNSWEPT), 0, 0x20000, &range), 0);
	EQ(row_pages_want_part(pages, range.first, 0x10000, &wanted), ROW_PART_WANTED);
	EQ(row_pages_at(pages, range.first + 1)->chunk, PAGE_ABSENT);
	row_pages_put_part(pages, range.first, 1, NULL);
	EQ(row_pages_stats(pages).parts_failed, 1);
	EQ(row_pages_want_part(pages, range.first, 0x10000, &wanted), ROW_PART_NONE);
	EQ(offset_at(pages, &range, 0x10000), 0);
	OK(is_here(pages, range.first + 1));
	EQ(row_pages_want_part(pages, range.first + 5, 0, &wanted), ROW_PART_NONE);
	EQ(row_pages_want_part(pages, range.first, 1ull << 40, &wanted), ROW_PART_NONE);
	row_pages_free(pages);
}

TEST(row_pages_of_a_large_file_are_absent_until_they_were_read)
{
	struct row_pages_range range;
	struct row_pages *pages;
	struct rows_file *part;
	struct rows_part wanted;

	EQ(row_pages_new(NULL, 4 * CHUNK_BYTES, &pages), 0);
	EQ(row_pages_add(pages, make_open_file(&ROWS_UNREAD), 0, 0x20000, &range), 0);
	EQ(row_pages_need(pages, range.first)->chunk, PAGE_ABSENT);	/* nobody is to guess there */
	OK(!row_pages_part_is_coming(pages, range.first));
	EQ(row_pages_want_part(pages, range.first, 0x9000, &wanted), ROW_PART_WANTED);
	OK(wanted.is_unread);
	OK(row_pages_part_is_coming(pages, range.first));
	EQ(row_pages_need(pages, range.first)->chunk, PAGE_ABSENT);
	part = make_part(0x8000);
	row_pages_put_part(pages, range.first, 0, part);
	rows_file_free(part);
	OK(!row_pages_part_is_coming(pages, range.first));
	EQ(offset_at(pages, &range, 0x10), 8);
	EQ(offset_at(pages, &range, 0x9000), 16);
	EQ(row_pages_stats(pages).pages_read, 1);
	EQ(row_pages_want_part(pages, range.first, 0x10000, &wanted), ROW_PART_WANTED);
	row_pages_put_part(pages, range.first, 1, NULL);
	EQ(offset_at(pages, &range, 0x10000), 0);		/* without them all must do as well as it can */
	OK(is_here(pages, range.first + 1));
	row_pages_free(pages);
}
