// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_file.h"

#include <errno.h>
#include <sys/mman.h>

#include "exe/rows.h"
#include "exe/rows_build.h"
#include "test.h"

#define OFFSET 64

/* Rows of three pages, the second without any; a memory file that holds them, or only so many bytes of them. */
static struct rows *make_rows(void)
{
	struct rows_build *build = rows_build_new();
	struct rows *rows;

	for (u32 i = 0; i < 100; i++)
		rows_build_add(build, 0x10000 + i * 16,
			       &(struct unwind_rule){ .kind = RULE_CFA, .cfa_off = 8 + i % 3 });
	rows_build_add(build, 0x11000, &(struct unwind_rule){ .kind = RULE_NONE });
	rows_build_add(build, 0x30010, &(struct unwind_rule){ .kind = RULE_END });
	rows_build_add(build, 0x30020, &(struct unwind_rule){ .kind = RULE_NONE });
	EQ(rows_build_finish(build, 62, 0, &rows), 0);
	rows_build_free(build);
	return rows;
}

static int file_of(const struct rows *rows, u32 bytes)
{
	int fd = memfd_create("rows", MFD_CLOEXEC);

	EQ(pwrite(fd, rows, bytes, OFFSET), bytes);
	return fd;
}

TEST(rows_file_reads_a_page_at_a_time)
{
	struct rows *rows = make_rows();
	struct rows_file *file, *in_memory;
	const struct rows_page *page;
	u16 low[128], rule[128];
	struct unwind_rule found;

	EQ(rows_file_new(file_of(rows, rows->bytes), OFFSET, &file), 0);
	page = rows_file_find(file, 1);
	EQ(page->count, 101);
	EQ(rows_file_page(file, page, low, rule), 0);
	EQ(low[99], 99 * 16);
	EQ(rows_file_rule(file, rule[1], &found), 0);
	EQ(found.cfa_off, 9);
	OK(!rows_file_find(file, 2));
	OK(!rows_file_find(file, 0x100000001));
	EQ(rows_file_rule(file, 99, &found), -EBADMSG);
	in_memory = rows_file_of(rows);
	EQ(rows_file_page(in_memory, rows_file_find(in_memory, 3), low, rule), 0);
	EQ(low[1], 0x10);
	rows_file_free(in_memory);
	rows_file_free(file);
}

TEST(rows_file_believes_no_file_that_was_changed_or_cut)
{
	struct rows *rows = make_rows();
	u16 low[128], rule[128];
	const u32 all = rows->bytes;

	for (u32 bytes = 0; bytes < all; bytes += 5) {
		int fd = file_of(rows, bytes);
		struct rows_file *file;

		if (rows_file_new(fd, OFFSET, &file) < 0) {
			close(fd);
			continue;
		}
		OK(rows_file_page(file, rows_file_find(file, 3), low, rule) < 0);
		rows_file_free(file);
	}
	for (u32 at = 0; at < all; at++) {
		struct rows_file *file;
		int fd;

		((u8 *)rows)[at] ^= 0xff;
		fd = file_of(rows, all);
		if (rows_file_new(fd, OFFSET, &file) == 0) {
			for (u32 i = 0; i < rows_file_head(file)->page_count; i++) {
				const struct rows_page *page = &rows_file_pages(file)[i];

				OK(page->count <= 128);
				if (rows_file_page(file, page, low, rule) == 0)
					OK(rule[0] < rows->rule_count);
			}
			rows_file_free(file);
		} else {
			close(fd);
		}
		((u8 *)rows)[at] ^= 0xff;
	}
	free(rows);
}
