/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file has to do with the runtime of a language: found in the reader process, from its contents, not its name.
 * A flat block, so that it can be sent between processes as it is.
 */
#ifndef EXE_LANG_FILE_H
#define EXE_LANG_FILE_H

#include <stddef.h>

#include "abi.h"

struct exe;

#define LANG_NUMBERS_MAX 16	/* numbers of languages are below */
#define LANG_MARKS_MAX 32
#define LANG_FACTS_MAX 128

/* Code [start_ea, end_ea) that a frame of is looked at by the runtime's own unwinder: an interpreter's loop. */
struct lang_mark {
	u64 start_ea, end_ea;
};

struct lang_file {
	u32 lang;			/* enum lang (lang/list.h) */
	u32 mark_count;
	struct lang_mark marks[LANG_MARKS_MAX];
	u64 facts[LANG_FACTS_MAX];	/* what its language makes of them: addresses, offsets, a version */
};

/* The half of a language that looks at files; it runs in the reader process and never sees a live one. */
struct lang_file_ops {
	/* 0 if the file holds this runtime, with marks and facts filled in (zeroed before); -ENODATA if not. */
	int (*recognise)(const struct exe *exe, struct lang_file *ret_file);
};

/* Asks each language; defined by lang/lang.c, which this layer cannot include. -ENODATA if none knows the file. */
int lang_file_find(const struct exe *exe, struct lang_file *ret_file);

/* 0, or -EBADMSG if a block of that many bytes is not a struct lang_file. */
int lang_file_check(const struct lang_file *file, size_t bytes);

#endif
