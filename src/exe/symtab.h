/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol tables of an ELF file: the bytes, and symbols by name. Runtimes
 * of languages are recognised by what they export.
 */
#ifndef EXE_SYMTAB_H
#define EXE_SYMTAB_H

#include <stdbool.h>

#include "base/types.h"

struct exe;
struct exe_data;

/* The table of a type, SHT_SYMTAB or SHT_DYNSYM, with its strings; false if the file has none, or not of 64 bits. */
bool symtab_open(const struct exe *exe, u32 type, struct exe_data *ret_symbols, struct exe_data *ret_strings);

/* A symbol that is looked for. */
struct symtab_wanted {
	const char *name;
	u32 type;		/* STT_...; 0: any */
	u64 ea, bytes;		/* the answer */
	bool found;
};

/*
 * Looks in one table for all that are not found yet; undefined ones do not count. How many are found now. .dynsym is
 * small; .symtab may be large: not to be asked for every file.
 */
u32 symtab_find(const struct exe *exe, u32 type, struct symtab_wanted *wanted, u32 count);

#endif
