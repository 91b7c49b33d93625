/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that the names of a binary come from: itself, its separate debug
 * file, and the one that dwz moved common parts to. Looked for once per
 * binary and kept open while new addresses of it come, so that a program that
 * has ended and was deleted does not take its place on the disk for long.
 *
 * If debuginfod may be asked, a file that did not come in time is asked for
 * again later, and is_fresh says when it came: the names known so far are
 * then out of date.
 *
 * One thread owns a set.
 */
#ifndef SYMBOL_SYMBOL_FILES_H
#define SYMBOL_SYMBOL_FILES_H

#include <stdbool.h>

#include "base/types.h"

#include "symbol/known_functions.h"

struct binary;
struct debuginfod;
struct reader;

#define SYMBOL_FILES_MAX 256u
#define SYMBOL_FILES_IDLE_NS 60000000000ull

struct symbol_files {
	struct binary *binary;	/* a reference */
	int debug_fd, alt_fd;	/* or -1 */
	bool has_lines;		/* there is DWARF in one of them, or a table of a language's own */
	bool is_unreadable;	/* the reader failed on it: set aside */
	bool is_fresh;
	bool is_waiting;	/* for debuginfod */
	u32 slow_answers;	/* of this round, for its user to count */
	u64 lines_ns;		/* what the last answer about its lines took, its user's; 0: none yet */
	struct known_functions known;	/* its user's */
	u64 used_ns;
};

struct symbol_files_set {
	struct reader *reader;		/* borrowed */
	struct debuginfod *debuginfod;	/* borrowed; or NULL */
	int host_root_fd;
	struct symbol_files *list;
	u32 count;
};

int symbol_files_init(struct symbol_files_set *set, struct reader *reader, struct debuginfod *debuginfod);
void symbol_files_done(struct symbol_files_set *set);

/* The files of a binary; borrowed until the next call. NULL without memory. */
struct symbol_files *symbol_files_get(struct symbol_files_set *set, struct binary *binary, u64 now_ns);

/* The debug file cannot be read: goes on without it. */
void symbol_files_drop_debug(struct symbol_files *files);

/* Lets go of what was not asked for within SYMBOL_FILES_IDLE_NS. */
void symbol_files_close_idle(struct symbol_files_set *set, u64 now_ns);

/* Asks again for what debuginfod did not send in time. */
void symbol_files_retry(struct symbol_files_set *set);

#endif
