/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with DWARF, open for libdw. The last few stay open (mapped, and
 * unpacked where they are compressed) between calls: to unpack libc's debug
 * file takes tens of milliseconds, and a new address in it turns up every few
 * seconds. What they take in memory is bounded, and nothing is kept for long
 * without use.
 *
 * libdw trusts its input more than we do and is not safe for threads: this
 * runs in the reader process only.
 */
#ifndef EXE_DWARF_FILES_H
#define EXE_DWARF_FILES_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include <elfutils/libdw.h>

#include "base/types.h"
#include "exe/dwarf_index.h"
#include "exe/line_table.h"

#define DWARF_FILES_MAX 4			/* kept open */
#define DWARF_KEPT_MAX (14u << 20)		/* bytes of malloc() kept between calls; libc takes 11.4 MiB */
#define DWARF_KEPT_NS (60ull * 1000000000)	/* without use, then they are closed */

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
	bool open;		/* else this place is empty */
	u64 used;		/* the number of its last use: the smallest makes room */
	u64 used_ns;
};

struct dwarf_files {
	struct dwarf_file file[DWARF_FILES_MAX];
	u64 uses;
	u64 opened;		/* files, ever: each of them was unpacked */
};

void dwarf_files_init(struct dwarf_files *files);
void dwarf_files_done(struct dwarf_files *files);

/*
 * The file, opened if it is not yet; those used least recently make room. It is valid until the next call. debug_fd
 * and alt_fd may be -1. -ENODATA if there is no DWARF, -E2BIG if it is compressed and too large to unpack.
 */
int dwarf_files_get(struct dwarf_files *files, int fd, int debug_fd, int alt_fd, u64 now_ns,
		    struct dwarf_file **ret_file);

/* Between calls: gives back the pages of mapped files; closes files that nobody used for long or that take too much. */
void dwarf_files_rest(struct dwarf_files *files, u64 now_ns);

/* Gives back the pages of a file that were read so far; they are read again where needed. */
void dwarf_file_forget(const struct dwarf_file *file);

#endif
