// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/copy.h"

#include "unwind.h"

#if REG_RA == 16

#define LOOP_NO_UNROLL

/* What step.h is given to work on. */
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

static inline const struct page_entry *table_page(u32 index)
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

static inline u64 strip_pac(struct unwind *u, u64 va)
{
	return va;
}

static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule)
{
	return STEP_NATIVE;
}

#include "lang/hotspot/step.h"

int hotspot_copy_step(struct unwind *u, lang_read_copy *read)
{
	reader = read;
	return hotspot_step(u);
}

#else

int hotspot_copy_step(struct unwind *u, lang_read_copy *read)
{
	return STEP_NATIVE;
}

#endif
