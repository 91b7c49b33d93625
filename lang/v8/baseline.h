/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baseline code is made of a function's bytecodes, one after the other. A table has, for each, how many bytes of code
 * it became; where a bytecode is, only the lengths of those before it tell.
 */
#ifndef LANG_V8_BASELINE_H
#define LANG_V8_BASELINE_H

#include <stddef.h>

#include "base/types.h"

#define BASELINE_BYTECODES 256
#define BASELINE_SCALES 3	/* plain, wide, extra wide */

/* How many bytes each bytecode has, without its prefix. */
struct baseline_sizes {
	u8 of[BASELINE_SCALES][BASELINE_BYTECODES];
	u32 count;		/* of bytecodes; 0: not known */
};

/* From V8's own array. Nothing is known if its size is impossible. */
void baseline_sizes_set(struct baseline_sizes *sizes, const u8 *array, size_t bytes);

/* The offset of the bytecode that an offset in the code belongs to; -1 if there is none. */
s64 baseline_bytecode(const struct baseline_sizes *sizes, const u8 *bytecode, size_t bytecode_bytes, const u8 *table,
		      size_t table_bytes, u32 code_offset);

#endif
