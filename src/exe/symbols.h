/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol index of one ELF file: what function an address lies in. Built
 * in the reader process; a flat block of bytes, as struct rows is:
 *
 *	struct symbols | struct symbol[count] | char strings[strings_bytes]
 *
 * Symbols ascend by ea and do not overlap. A symbol counts only inside its
 * size (or, if that is 0, inside its FDE, else up to the next symbol): an
 * address between two has no name. Where only an FDE is known, name is 0 and
 * the function is called by its module and start.
 */
#ifndef EXE_SYMBOLS_H
#define EXE_SYMBOLS_H

#include <stddef.h>

#include "abi.h"

#define SYMBOLS_MAGIC "wicksym1"
#define SYMBOLS_MAX (8u << 20)

struct symbol {
	u64 ea;
	u32 bytes;
	u32 name;	/* offset into strings; 0 = "": known by its FDE alone */
};

struct symbols {
	char magic[8];
	u32 bytes;
	u32 count;
	u32 strings_bytes;
	u32 pad;
};

static inline const struct symbol *symbols_array(const struct symbols *symbols)
{
	return (const void *)(symbols + 1);
}

static inline const char *symbols_strings(const struct symbols *symbols)
{
	return (const void *)(symbols_array(symbols) + symbols->count);
}

/* 0 if the block is well formed, else -EBADMSG. */
int symbols_check(const struct symbols *symbols, size_t bytes);

/* The symbol that covers an ELF address, or NULL. */
const struct symbol *symbols_find(const struct symbols *symbols, u64 ea);

#endif
