/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up symbol tables for tests. */
#ifndef FORGE_SYMBOLS_H
#define FORGE_SYMBOLS_H

#include "base/types.h"
#include "forge.h"

struct sym {
	const char *name;
	u64 ea, bytes;
	u8 type, binding;
};

/* Adds a symbol table of that kind and its strings. */
static inline void forge_symbols(struct forge *f, const char *name, u32 type, const struct sym *syms, u32 count)
{
	Elf64_Sym table[96] = { 0 };
	char strings[8192] = "";
	Elf64_Shdr *header;
	u32 at = 1;

	OK(count < 96);
	for (u32 i = 0; i < count; i++) {
		table[i + 1] = (Elf64_Sym){ .st_name = at, .st_info = ELF64_ST_INFO(syms[i].binding, syms[i].type),
					    .st_shndx = 1, .st_value = syms[i].ea, .st_size = syms[i].bytes };
		memcpy(strings + at, syms[i].name, strlen(syms[i].name) + 1);
		at += strlen(syms[i].name) + 1;
	}
	header = forge_section(f, name, type, 0, 0, table, (count + 1) * sizeof(table[0]));
	header->sh_link = f->ehdr.e_shnum;
	forge_section(f, ".strtab", SHT_STRTAB, 0, 0, strings, at);
}

#endif
