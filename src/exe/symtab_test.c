// SPDX-License-Identifier: Apache-2.0
#include "exe/symtab.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <search.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
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

/* libc in memory, and where its hash table lies. As all libraries it has one. */
static u8 *read_libc(size_t *ret_bytes, u64 *ret_hash_fo, u64 *ret_lsearch_ea)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct exe_section section;
	struct link_map *map;
	Dl_info libc;
	u8 *copy;
	int fd;

	OK(dladdr1((const void *)(uintptr_t)lsearch, &libc, (void **)&map, RTLD_DL_LINKMAP));
	fd = open(libc.dli_fname, O_RDONLY | O_CLOEXEC);
	EQ(exe_map(fd, NULL, &exe), 0);
	close(fd);
	OK(exe_section_typed(exe, SHT_GNU_HASH, &section));
	copy = malloc(exe->bytes);
	OK(copy);
	memcpy(copy, exe->at, exe->bytes);
	*ret_bytes = exe->bytes;
	*ret_hash_fo = section.fo;
	*ret_lsearch_ea = (u64)(uintptr_t)lsearch - map->l_addr;
	return copy;
}

TEST(symtab_finds_symbols_by_their_hash)
{
	struct symtab_wanted wanted[] = { { .name = "lsearch" }, { .name = "lsearch_of_nobody" },
					  { .name = "getenv" } };
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) void *copy = NULL;
	u64 hash_fo, lsearch_ea;
	size_t bytes;

	copy = read_libc(&bytes, &hash_fo, &lsearch_ea);
	EQ(exe_open_mem(copy, bytes, &exe), 0);
	EQ(symtab_find(exe, SHT_DYNSYM, wanted, 3), 2);
	EQ(wanted[0].ea, lsearch_ea);
	OK(wanted[0].bytes && !wanted[1].found && wanted[2].found);
}

TEST(symtab_survives_a_hash_that_makes_no_sense)
{
	static const u32 values[] = { 0, 1, 0x7fffffff, 0xffffffff };
	_cleanup_(freep) void *copy = NULL;
	u64 hash_fo, lsearch_ea;
	size_t bytes;

	copy = read_libc(&bytes, &hash_fo, &lsearch_ea);
	for (u32 i = 0; i < 64; i++) {
		struct symtab_wanted wanted[] = { { .name = "lsearch" }, { .name = "lsearch_of_nobody" } };
		_cleanup_(exe_freep) struct exe *exe = NULL;
		u8 *word = (u8 *)copy + hash_fo + i / 4 * 4;
		u32 old;

		memcpy(&old, word, sizeof(old));
		memcpy(word, &values[i % 4], sizeof(old));
		EQ(exe_open_mem(copy, bytes, &exe), 0);
		(void)symtab_find(exe, SHT_DYNSYM, wanted, 2);
		OK(!wanted[1].found && (!wanted[0].found || wanted[0].ea == lsearch_ea));
		memcpy(word, &old, sizeof(old));
	}
}
