/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with DWARF, open for libdw. The last few stay open (mapped) between
 * calls, until they take too much memory. libdw trusts its input more than we
 * do and is not safe for threads: this runs in the reader process only.
 */
#ifndef EXE_DWARF_FILES_H
#define EXE_DWARF_FILES_H

#include <sys/types.h>
#include <time.h>

#include <elfutils/libdw.h>

#include "abi.h"
#include "exe/dwarf_index.h"
#include "exe/line_table.h"

#define DWARF_FILES_MAX 3	/* kept open */

/* Where names lie. */
enum dwarf_text { DWARF_TEXT_STR, DWARF_TEXT_LINE_STR, DWARF_TEXT_INFO, DWARF_TEXT_TYPES, DWARF_TEXTS };

/* A file that libdw reads. libelf maps it, so that the descriptor need not stay open. */
struct dwarf_mapped {
	void *at;		/* the mapping, libelf's */
	size_t bytes;
	Elf *elf;
	Dwarf *dwarf;
	struct line_section text[DWARF_TEXTS];
};

/* Tells files apart while they do not change. */
struct dwarf_identity {
	dev_t dev;
	ino_t ino;
	off_t bytes;
	struct timespec changed;
};

struct dwarf_file {
	struct dwarf_identity exe, debug, alt;
	struct dwarf_mapped main, supplement;
	struct dwarf_index index;
	struct line_sections sections;
	u64 used;		/* when last; 0 if this place is empty */
};

struct dwarf_files {
	struct dwarf_file file[DWARF_FILES_MAX];
	u64 uses;
};

void dwarf_files_init(struct dwarf_files *files);
void dwarf_files_done(struct dwarf_files *files);

/*
 * The file, opened if it is not yet; the one that was used least recently makes room. It is valid until the next call.
 * debug_fd and alt_fd may be -1. -ENODATA if there is no DWARF, -E2BIG if it is compressed and too large to unpack.
 */
int dwarf_files_get(struct dwarf_files *files, int fd, int debug_fd, int alt_fd, struct dwarf_file **ret_file);

/* Between calls: gives back the memory that mapped files take and, if much is used, closes them. */
void dwarf_files_rest(struct dwarf_files *files);

/* Gives back the pages of a file that were read so far; they are read again where needed. */
void dwarf_file_forget(const struct dwarf_file *file);

#endif
