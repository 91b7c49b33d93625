// SPDX-License-Identifier: Apache-2.0
#include "exe/symtab.h"

#include <string.h>

#include "exe/elf.h"

#define FORGET_EVERY 65536	/* symbols: a table may be larger than what the reader is to hold */

bool symtab_open(const struct exe *exe, u32 type, struct exe_data *ret_symbols, struct exe_data *ret_strings)
{
	struct exe_section table, strings;

	if (exe->elf_class != ELFCLASS64 || !exe_section_typed(exe, type, &table) ||
	    !exe_section(exe, table.link, &strings))
		return false;
	/* Nobody compresses these. */
	if ((table.flags | strings.flags) & SHF_COMPRESSED)
		return false;
	return exe_section_data(exe, &table, 0, ret_symbols) == 0 &&
	       exe_section_data(exe, &strings, 0, ret_strings) == 0;
}

/* True if the string at that offset is that name. */
static bool is_named(const struct exe_data *strings, u32 offset, const char *name)
{
	size_t len = strlen(name) + 1;

	return offset < strings->bytes && strings->bytes - offset >= len && !memcmp(strings->at + offset, name, len);
}

static bool offer(const struct exe_data *strings, const Elf64_Sym *sym, struct symtab_wanted *wanted, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		if (wanted[i].found || !is_named(strings, sym->st_name, wanted[i].name))
			continue;
		wanted[i].ea = sym->st_value;
		wanted[i].bytes = sym->st_size;
		wanted[i].found = true;
		return true;
	}
	return false;
}

u32 symtab_find(const struct exe *exe, u32 type, struct symtab_wanted *wanted, u32 count)
{
	struct exe_data symbols, strings;
	u32 found = 0, read = 0;
	Elf64_Sym sym;

	for (u32 i = 0; i < count; i++)
		found += wanted[i].found;
	if (!symtab_open(exe, type, &symbols, &strings))
		return found;
	for (size_t at = 0; symbols.bytes - at >= sizeof(sym) && found < count; at += sizeof(sym)) {
		memcpy(&sym, symbols.at + at, sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && sym.st_name)
			found += offer(&strings, &sym, wanted, count);
		if (++read % FORGET_EVERY == 0)
			exe_forget(exe);
	}
	return found;
}
