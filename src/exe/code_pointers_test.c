// SPDX-License-Identifier: Apache-2.0
#include "exe/code_pointers.h"

#include "exe/elf.h"
#include "forge.h"
#include "test.h"

#define TEXT 0x1000
#define DATA 0x4000

static void find(struct forge *f, struct code_pointers *ret)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_finish(f);
	EQ(exe_open_mem(f->b.data, f->b.len, &exe), 0);
	code_pointers_find(exe, 0, ~0ull, ret);
}

TEST(code_pointers_are_words_of_data_at_fixed_addresses)
{
	static const u64 words[] = { 5, TEXT + 0x30, TEXT + 0x10, TEXT + 0x30, 0, DATA, TEXT + 0x1000 };
	static u8 text[0x1000];
	_cleanup_(code_pointers_done) struct code_pointers p = { 0 };
	_cleanup_(forge_done) struct forge f;

	forge_init(&f, EM_X86_64);
	f.ehdr.e_type = ET_EXEC;
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, sizeof(text));
	forge_section(&f, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0x3000, &(u64){ TEXT + 0x50 }, 8);
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, words, sizeof(words));
	find(&f, &p);
	EQ(p.count, 2);
	EQ(p.at[0], TEXT + 0x10);
	EQ(p.at[1], TEXT + 0x30);
	EQ(code_pointers_from(&p, TEXT + 0x10), 0);
	EQ(code_pointers_from(&p, TEXT + 0x11), 1);
	EQ(code_pointers_from(&p, TEXT + 0x31), 2);
}

TEST(code_pointers_are_relocations_where_the_loader_decides)
{
	static const Elf64_Rela relas[] = {
		{ DATA, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT + 0x40 },
		{ DATA + 8, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), TEXT + 0x20 },
		{ DATA + 16, ELF64_R_INFO(0, R_X86_64_RELATIVE), DATA },
	};
	static u8 text[0x1000];
	_cleanup_(code_pointers_done) struct code_pointers p = { 0 };
	_cleanup_(forge_done) struct forge f;

	forge_init(&f, EM_X86_64);
	f.ehdr.e_type = ET_DYN;
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, sizeof(text));
	forge_section(&f, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0x3000, relas, sizeof(relas));
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, &(u64){ TEXT + 0x50 }, 8);
	find(&f, &p);
	EQ(p.count, 1);
	EQ(p.at[0], TEXT + 0x40);
}
