/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a language's step.h is given to work on when it walks a copied stack: a reader, set before each step, and no
 * tables. For one .c file a language, which defines its step() by it.
 */
#ifndef LANG_COPIED_H
#define LANG_COPIED_H

#include "lang/lang.h"
#include "unwind.h"

#define LOOP_NO_UNROLL

static __thread lang_read_copy *reader;

static inline int read_user(struct unwind *u, void *to, u32 bytes, u64 va)
{
	return reader(u, to, bytes, va);
}

/* Native code is not looked at from here: a stub that it called ends the stack. */
static inline const struct map_entry *table_map(u32 index)
{
	return NULL;
}

static inline struct page_entry *table_page(u32 index)
{
	return NULL;
}

static inline const struct rows_chunk *table_chunk(u32 index)
{
	return NULL;
}

static inline const struct unwind_rule *table_rule(u32 index)
{
	return NULL;
}

static inline struct place *table_place(struct unwind *u, u64 va)
{
	return NULL;
}

static inline int read_code(struct unwind *u, void *to, u32 bytes, u64 va)
{
	return read_user(u, to, bytes, va);
}

static inline int may_return(struct unwind *u, u64 return_va)
{
	return 1;
}

static inline u64 strip_pac(struct unwind *u, u64 va)
{
	return va;
}

static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule)
{
	return STEP_NATIVE;
}

#endif
