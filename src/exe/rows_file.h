/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rows of one file (exe/rows.h) where they need not be in memory as
 * a whole: read from a file page by page, each checked as it is read. Of the
 * rest only the list of pages is held, 12 bytes for 64 KiB of text.
 *
 * One thread at a time.
 */
#ifndef EXE_ROWS_FILE_H
#define EXE_ROWS_FILE_H

#include "base/cleanup.h"
#include "base/types.h"

struct rows;
struct rows_file;
struct rows_page;
struct unwind_rule;

/* Takes the descriptor if it succeeds. The struct rows begins at that offset. -EBADMSG if it is none. */
int rows_file_new(int fd, u64 offset, struct rows_file **ret_file);

/* Of a checked block in memory, which it takes in any case. NULL without memory. */
struct rows_file *rows_file_of(struct rows *rows);

void rows_file_free(struct rows_file *file);
DEFINE_CLEANUP(struct rows_file *, rows_file_free)

/* The counts of it; what follows a struct rows is not there. */
const struct rows *rows_file_head(const struct rows_file *file);

/* In ascending order, rows_file_head()->page_count of them. */
const struct rows_page *rows_file_pages(const struct rows_file *file);

/* The page with that number, or NULL. */
const struct rows_page *rows_file_find(const struct rows_file *file, u64 number);

/* Reads the rows of one of its pages: page->count of each. -EBADMSG if they are none, or -errno. */
int rows_file_page(const struct rows_file *file, const struct rows_page *page, u16 *ret_low, u16 *ret_rule);

/* Reads one of its rules. */
int rows_file_rule(const struct rows_file *file, u32 index, struct unwind_rule *ret_rule);

#endif
