/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a struct symbols: one pass over each symbol table finds, for all
 * addresses that are wanted at once, the function that covers them. Nothing
 * is sorted or kept, so that memory depends on what is asked, not on the
 * file. Runs in the reader process.
 */
#ifndef EXE_SYMBOLS_BUILD_H
#define EXE_SYMBOLS_BUILD_H

#include "base/types.h"

struct exe;
struct symbols;

/* debug is the separate debug file or NULL. At most SYMBOLS_MAX addresses, in any order. 0 or -errno. */
int symbols_build(const struct exe *exe, const struct exe *debug, const u64 *ea, u32 count,
		  struct symbols **ret_symbols);

#endif
