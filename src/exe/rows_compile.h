/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the call frame information of an ELF file to unwind rows. The
 * machine is the file's, x86-64 or arm64, whatever we run on.
 *
 * Where rules come from, the first that covers an address wins:
 *  - tables of a language's own (exe/lang_tables.h);
 *  - .eh_frame, except that the program's entry point, and a signal
 *    trampoline, are known better (exe/known.h);
 *  - .debug_frame, of the file or of its separate debug file;
 *  - what is known without either (exe/known.h);
 *  - on x86-64, what the instructions do to the stack (exe/sweep.h). What is
 *    too much of that is ROWS_UNSWEPT, and looked through part by part when
 *    stacks end there (exe/rows_part.h).
 * A gap of up to 15 bytes is padding and keeps the rule before it.
 *
 * A large file's .eh_frame is not read as a whole: its code is ROWS_UNREAD,
 * and compiled page by page when stacks come by, if the linker has left an
 * index of its functions (.eh_frame_hdr).
 */
#ifndef EXE_ROWS_COMPILE_H
#define EXE_ROWS_COMPILE_H

#include "base/types.h"

struct exe;
struct rows;

/* Raise it when the same file gives other rows than before: rows kept on disk by older versions are not used. */
#define ROWS_COMPILE_VERSION 16

/*
 * debug may be NULL. The result is the caller's to free(). -ENODATA if the file has no rows, or is of a machine that
 * has no rules.
 */
int rows_compile(const struct exe *exe, const struct exe *debug, struct rows **ret_rows);

/* The same, unless there is an index of more functions than that: then it is for later. */
#define ROWS_WHOLE_MAX 32768
int rows_compile_within(const struct exe *exe, const struct exe *debug, u32 whole_max, struct rows **ret_rows);

/*
 * The rows of one page of such a file; start_ea and end_ea, around it, bound what is looked at where functions have no
 * call frame information. -ENODATA if there are none.
 */
int rows_compile_page(const struct exe *exe, u64 page_ea, u64 start_ea, u64 end_ea, struct rows **ret_rows);

#endif
