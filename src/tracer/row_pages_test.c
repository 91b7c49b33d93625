// SPDX-License-Identifier: Apache-2.0
/* In memory of our own: what a kernel half would do is done by hand. */
#include "tracer/row_pages.h"

#include <errno.h>

#include "exe/rows_build.h"
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
