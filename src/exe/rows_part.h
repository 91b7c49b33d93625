/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of a file that is looked through by what stacks meet: of large files no
 * one waits for all of it, and most of it never runs. Where rows say
 * ROWS_UNREAD, the page of 64 KiB that a stack has come to is compiled (exe/rows_compile.h);
 * where they say ROWS_UNSWEPT, there is no call frame information, and a stack
 * ends there, it is swept (exe/sweep.h). Its rows fill in what the file's own
 * leave open.
 *
 * A function that begins before the page is known by what lies there: some
 * pages before it and one behind are looked through as well, as far as they
 * are one stretch of such code. Where the symbol table tells of one that
 * begins even before that, all of it is.
 */
#ifndef EXE_ROWS_PART_H
#define EXE_ROWS_PART_H

#include <stdbool.h>

#include "abi.h"

struct exe;
struct rows;
struct rows_file;
struct rows_page;

#define ROWS_PART_RANGES_MAX 64
#define ROWS_PART_EAS_MAX (1 + 2 * ROWS_PART_RANGES_MAX)
/* Pages that are looked through for the sake of one, before and behind it. */
#define ROWS_PART_BEFORE 16
#define ROWS_PART_NEAR   4	/* ... before it unless a long function begins further away */
#define ROWS_PART_BEHIND 1

/* Addresses: where the page begins, then start and end of each stretch. As they are sent to the reader process. */
struct rows_part {
	u32 count;
	u64 ea[ROWS_PART_EAS_MAX];
	bool is_unread;		/* else it is swept */
};

/* Does the file leave code of that page for later? */
bool rows_part_is_in(const struct rows_file *file, const struct rows_page *page);

/* The part around an address; false if its code is not among what was left for later. */
bool rows_part_find(const struct rows_file *file, u64 ea, struct rows_part *ret_part);

/* Is what the file leaves for later ROWS_UNREAD? */
bool rows_part_is_unread(const struct rows_file *file);

/* In the reader: the rows of its page. -EBADMSG if it is no part of a file's code, -ENODATA if nothing was found. */
int rows_part_compile(const struct exe *exe, const struct rows_part *part, struct rows **ret_rows);

/* Rows of one page, with numbers of rules that both of two have in common; 0 is RULE_NONE. */
struct rows_list {
	u16 *low, *rule;
	u32 count;
};

/* Where the first says RULE_NONE the second holds. False past the result's count, which is then not to be used. */
bool rows_part_merge(const struct rows_list *first, const struct rows_list *second, struct rows_list *ret_list);

#endif
