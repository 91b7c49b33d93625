/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inline chains and lines: from the tables of a language's own where it left
 * some (exe/lang_tables.h), else from DWARF, read by libdw: versions 2 to 5,
 * compressed sections, separate debug files, dwz supplementary files. Of
 * units whose DIEs are in a .dwo file, lines without function names.
 *
 * The last few files stay open between calls (exe/dwarf_files.h). Runs in the
 * reader process only.
 */
#ifndef EXE_INLINES_H
#define EXE_INLINES_H

#include "base/cleanup.h"
#include "base/types.h"

struct exe_lines;
struct lang_file_ops;
struct inlines;

/* langs: as in struct exe. */
struct inlines *inlines_new(const struct lang_file_ops *const *langs);
void inlines_free(struct inlines *inlines);
DEFINE_CLEANUP(struct inlines *, inlines_free)

/*
 * Files as in reader_lines(); debug_fd and alt_fd may be -1. After budget_ns no further address is begun.
 * -ENODATA if there is nothing of the kind, -E2BIG if it is compressed and too large to unpack.
 */
int inlines_find(struct inlines *inlines, int fd, int debug_fd, int alt_fd, const u64 *ea, u32 count, u64 budget_ns,
		 struct exe_lines **ret_lines);

/* Between calls, and now and then while there are none: gives back memory (dwarf_files_rest()). */
void inlines_rest(struct inlines *inlines);

#endif
