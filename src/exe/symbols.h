/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one ELF file by address: those that cover the addresses that
 * were asked for. Made in the reader process; a flat block of bytes, as
 * struct rows is:
 *
 *	struct symbols | struct symbol[count] | char strings[strings_bytes]
 *
 * The whole table of a large program takes megabytes for the few functions
 * that are ever seen on a stack; so it is read, not copied.
 *
 * Symbols ascend by ea, strictly. They may nest (an assembler's entry inside
 * of another): the one that starts last counts. A symbol counts only inside
 * its size (or, if that is 0, inside its FDE, else up to the next symbol): an
 * address between two has no name. Where only an FDE is known, name is 0 and
 * the function is called by its module and start.
 */
#ifndef EXE_SYMBOLS_H
#define EXE_SYMBOLS_H

#include <stddef.h>

#include "base/types.h"

#define SYMBOLS_MAGIC "wicksym3"
#define SYMBOLS_MAX 4096		/* addresses to ask for at once, and symbols that come back */
#define SYMBOL_NAME_MAX (64u << 10)	/* longer names are cut */

struct symbol {
	u64 ea;
	u32 bytes;
	u32 name;	/* offset into strings; 0 = "": known by its FDE alone */
	u32 lang;	/* enum lang: whose own tables know it; 0: native code */
	u32 clear_bytes;	/* from ea on, that are of no other function for sure; 0: not known */
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

/* Its name, "" if it has none; lives as long as the block. */
static inline const char *symbols_name(const struct symbols *symbols, const struct symbol *symbol)
{
	return symbols_strings(symbols) + symbol->name;
}

#endif
