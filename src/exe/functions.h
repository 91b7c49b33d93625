/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a file, by where their unwind rule comes from: a sorted
 * list of ranges that do not overlap, made from sources that do.
 */
#ifndef EXE_FUNCTIONS_H
#define EXE_FUNCTIONS_H

#include "base/types.h"

#define FUNCTIONS_MAX (2u << 20)	/* 16 bytes each */
#define FUNCTIONS_EA_LIMIT (1ull << 48)

enum function_source {
	FUNCTION_EH,		/* an FDE of .eh_frame: ref is its offset */
	FUNCTION_DEBUG,		/* ... of .debug_frame */
	FUNCTION_KNOWN,		/* we know better: ref is an enum known_rule (exe/known.h) */
	FUNCTION_SWEPT,		/* code without FDEs: its instructions tell (exe/sweep.h) */
	FUNCTION_UNREAD,	/* code that is left for later (exe/rows_part.h) */
	FUNCTION_LANG,		/* a language's own tables know it by the number ref (exe/lang_tables.h) */
};

struct function {
	u64 start_ea : 48;
	u64 source : 16;	/* enum function_source */
	u32 bytes;
	u32 ref;
};

struct functions {
	struct function *at;
	u32 count, cap;
	u32 dropped_count;	/* past FUNCTIONS_MAX, or with impossible addresses */
	int err;		/* -ENOMEM sticks */
};

void functions_done(struct functions *functions);

/* Empty ranges are left out. */
void functions_add(struct functions *functions, u64 start_ea, u64 end_ea, enum function_source source, u64 ref);

/* Sorts, and cuts those that overlap: the later start wins, of equal starts the longest. */
void functions_settle(struct functions *functions);

/* Adds what of the others (settled) lies in gaps of these (settled). The others are emptied. */
void functions_fill(struct functions *functions, struct functions *others);

/* Puts the others (settled) in place of what these (settled) say of the same addresses. The others are emptied. */
void functions_overlay(struct functions *functions, struct functions *others);

/* The function at an address or NULL. Of a settled list. */
struct function *functions_find(const struct functions *functions, u64 ea);

/* Index of the first function that ends behind ea. Of a settled list. */
u32 functions_from(const struct functions *functions, u64 ea);

static inline u64 function_end(const struct function *function)
{
	return function->start_ea + function->bytes;
}

#endif
