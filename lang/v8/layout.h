/* SPDX-License-Identifier: Apache-2.0 */
/* Where the fields of V8's objects are: what it publishes, and, where that has gaps, what its version tells. */
#ifndef LANG_V8_LAYOUT_H
#define LANG_V8_LAYOUT_H

#include "lang/v8/v8.h"
#include "lang/v8/v8_file.h"

struct layout {
	u64 at[V8_NUMBER_COUNT];	/* V8_MISSING: this version has none */
	u32 position_flags;		/* bits of them in tables of positions */
};

/*
 * 1 instead of 0 if the version is not known, and read as the nearest before it; -ENOTSUP if it does not tell enough,
 * is too old, or compresses its pointers.
 */
int layout_read(const u64 facts[LANG_FACTS_MAX], struct layout *ret_layout);

void layout_slot(const struct layout *layout, struct v8_slot *ret_slot);

#endif
