/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a file a probe is to be set: at a function, by the name in its symbol tables, or at USDT markers, which are
 * notes in .note.stapsdt. The reader process finds it (READER_PROBE_POINTS); an answer is one struct, checked.
 */
#ifndef EXE_PROBE_POINTS_H
#define EXE_PROBE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct exe;

#define PROBE_POINTS_MAX 16
#define PROBE_POINT_NAME 256
#define PROBE_POINT_ARGUMENTS 256

/* What is looked for; the words of a request. */
struct probe_wanted {
	u64 is_usdt;
	u64 offset;			/* behind the start of the function */
	char provider[PROBE_POINT_NAME];	/* "": any */
	char name[PROBE_POINT_NAME];	/* "0x..." is an ELF address */
};
_Static_assert(sizeof(struct probe_wanted) % sizeof(u64) == 0, "words");

struct probe_place {
	u64 fo;				/* offset in the file */
	u64 semaphore_fo;		/* of a counter to be raised while somebody listens; 0: none */
	char arguments[PROBE_POINT_ARGUMENTS];	/* "8@%rdi -4@$5" */
};

struct probe_points {
	u32 count;			/* 0: there is none of that name */
	u32 left_out;			/* more of the same name than there is room for */
	u32 has_names;			/* false: the file has none at all */
	u32 pad;
	char nearest[PROBE_POINT_NAME];	/* if there is none: one that is spelled nearly so, or "" */
	struct probe_place at[PROBE_POINTS_MAX];
};

/* -ENOEXEC of a file that is not of 64 bits. */
int probe_points_find(const struct exe *exe, const struct probe_wanted *wanted, struct probe_points *ret_points);

/* 0, or -EBADMSG. */
int probe_points_check(const void *at, size_t bytes);

#endif
