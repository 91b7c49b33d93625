/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names the frames of a code object, as it was read from the process:
 * each place in a function is a frame of its own, and all have this in common.
 * By address and cookie, which tells a dead object's successor.
 *
 * Bounded: what is full is emptied, and filled again by what is in use.
 */
#ifndef LANG_PYTHON_CODES_H
#define LANG_PYTHON_CODES_H

#include <stddef.h>

#include "base/arena.h"
#include "base/interner.h"
#include "base/types.h"

#define PYTHON_CODES_BYTES_MAX (512u << 10)	/* of a process */
#define PYTHON_CODE_LINES_MAX (8u << 10)	/* of a line table; one that is longer is read each time */

struct python_known_code {
	const char *function, *file;
	const u8 *lines;
	u32 lines_bytes;
	u32 line;		/* the first */
};

struct python_codes {
	struct arena arena;
	struct interner keys, texts;
	struct python_known_code *at;	/* by number of the key */
	u32 cap;
};

void python_codes_init(struct python_codes *codes);
void python_codes_done(struct python_codes *codes);

/* NULL if it is not known; good until the next is added. */
const struct python_known_code *python_codes_find(const struct python_codes *codes, u64 va, u64 cookie);

/* Takes copies. */
void python_codes_add(struct python_codes *codes, u64 va, u64 cookie, const struct python_known_code *code);

#endif
