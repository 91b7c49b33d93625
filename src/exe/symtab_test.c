// SPDX-License-Identifier: Apache-2.0
#include "exe/symtab.h"

#include "exe/elf.h"
#include "forge.h"
#include "forge_symbols.h"
#include "test.h"

static const struct sym dynamic[] = {
	{ "alpha", 0x1000, 16, STT_FUNC, STB_GLOBAL },
	{ "beta", 0x2000, 8, STT_OBJECT, STB_GLOBAL },
};

static const struct sym local[] = {
	{ "alpha", 0x9000, 1, STT_FUNC, STB_LOCAL },
	{ "gamma", 0x3000, 4, STT_FUNC, STB_LOCAL },
};

TEST(symtab_finds_symbols_by_name)
{
	struct symtab_wanted wanted[] = {
		{ .name = "beta" }, { .name = "gamma" }, { .name = "alph" }, { .name = "alpha" },
	};
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_init(&f, EM_X86_64);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, dynamic, 2);
	forge_symbols(&f, ".symtab", SHT_SYMTAB, local, 2);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(symtab_find(exe, SHT_DYNSYM, wanted, 4), 2);
	EQ(wanted[0].ea, 0x2000);
	EQ(wanted[0].bytes, 8);
	OK(!wanted[1].found && !wanted[2].found);
	/* What is found stays: the first table goes first. */
	EQ(symtab_find(exe, SHT_SYMTAB, wanted, 4), 3);
	EQ(wanted[1].ea, 0x3000);
	EQ(wanted[3].ea, 0x1000);
	OK(!wanted[2].found);
}

TEST(symtab_finds_nothing_where_there_is_no_table)
{
	struct symtab_wanted wanted[] = { { .name = "alpha" } };
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_init(&f, EM_X86_64);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(symtab_find(exe, SHT_DYNSYM, wanted, 1), 0);
}
