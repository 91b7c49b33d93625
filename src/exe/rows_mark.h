/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells in a file's unwind rows which code is that of a language's runtime:
 * rows are split at the bounds of the marks (exe/lang_file.h), and those
 * inside carry the language's number.
 */
#ifndef EXE_ROWS_MARK_H
#define EXE_ROWS_MARK_H

struct exe;
struct lang_file;
struct rows;

/* The same rows, marked: the caller's to free(). */
int rows_mark(const struct rows *rows, const struct lang_file *file, struct rows **ret_rows);

/* Marks the rows of a file, in place of which others may come. Of one that holds no runtime they stay as they are. */
int rows_mark_file(const struct exe *exe, struct rows **rows);

#endif
