/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the procedure linkage table: small jumps through the GOT, which have no symbols of their own. */
#ifndef EXE_PLT_H
#define EXE_PLT_H

#include "exe/elf.h"

struct plt_entry {
	u64 ea;
	u32 bytes;
	u32 symbol;	/* in .dynsym: where it jumps to */
};

/* The entry that an address lies in. False if it lies in none, or where that jumps to can't be told. */
bool plt_find(const struct exe *exe, u64 ea, struct plt_entry *ret_entry);

#endif
