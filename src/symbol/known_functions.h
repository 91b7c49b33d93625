/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one file that were named by their symbol: where no lines
 * are to be had, another address in one of them has the same name, and nobody
 * need be asked. The leaves of stacks are at new addresses all the time, and
 * to look for a symbol is to read the whole table: megabytes.
 *
 * Bounded: what is full is emptied, and filled again by what is in use.
 */
#ifndef SYMBOL_KNOWN_FUNCTIONS_H
#define SYMBOL_KNOWN_FUNCTIONS_H

#include <stdbool.h>

#include "base/types.h"

#define KNOWN_FUNCTIONS_MAX 4096

struct known_function {
	u64 ea;
	u32 bytes;	/* from there on that are of no other function */
	u32 named;	/* ea + named is an address that was named */
};

struct known_functions {
	struct known_function *at;	/* ascending, apart */
	u32 count, cap;
};

void known_functions_done(struct known_functions *known);

/* Without memory it is not kept. */
void known_functions_add(struct known_functions *known, const struct known_function *function);

/* The one that an address lies in, or NULL. */
const struct known_function *known_functions_find(const struct known_functions *known, u64 ea);

#endif
