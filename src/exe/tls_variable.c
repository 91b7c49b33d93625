// SPDX-License-Identifier: Apache-2.0
#include "exe/tls_variable.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/symtab.h"

#define FORGET_EVERY 8192	/* relocations */
#define TCB_BYTES_ARM64 16	/* between the thread pointer and the program's block */

/* Older headers lack some of them. */
enum { X86_MODULE = 16, X86_OFFSET = 18, X86_DESCRIPTOR = 36, ARM64_MODULE = 1028, ARM64_OFFSET = 1030,
       ARM64_DESCRIPTOR = 1031 };

static enum tls_access access_of(const struct exe *exe, u32 type)
{
	bool is_arm64 = exe->machine == EM_AARCH64;

	if (type == (is_arm64 ? ARM64_OFFSET : X86_OFFSET))
		return TLS_OFFSET;
	if (type == (is_arm64 ? ARM64_DESCRIPTOR : X86_DESCRIPTOR))
		return TLS_DESCRIPTOR;
	return type == (is_arm64 ? ARM64_MODULE : X86_MODULE) ? TLS_MODULE : TLS_NONE;
}

/* The block's header, and whether the file is a program: one whose block lies where the ABI says. */
static bool find_block(const struct exe *exe, struct exe_phdr *ret_block, bool *ret_program)
{
	struct exe_phdr phdr;
	bool found = false;

	*ret_program = exe->type == ET_EXEC;
	for (u32 i = 0; i < exe->phdr_count; i++) {
		if (!exe_phdr(exe, i, &phdr))
			continue;
		if (phdr.type == PT_TLS) {
			*ret_block = phdr;
			found = true;
		}
		*ret_program |= phdr.type == PT_INTERP;
		for (u64 at = 0; phdr.type == PT_DYNAMIC && at + sizeof(Elf64_Dyn) <= phdr.file_bytes;
		     at += sizeof(Elf64_Dyn)) {
			const u8 *bytes = exe_bytes(exe, phdr.fo + at, sizeof(Elf64_Dyn));
			Elf64_Dyn entry = { 0 };

			if (bytes)
				memcpy(&entry, bytes, sizeof(entry));
			if (entry.d_tag == DT_NULL)
				break;
			*ret_program |= entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE;
		}
	}
	return found && !(ret_block->align & (ret_block->align - 1)) && ret_block->align <= 1u << 20 &&
	       ret_block->mem_bytes <= 1u << 30;
}

/* Where the program's own block is from the thread pointer on: below it, or on arm64 above two words of the libc. */
static u64 program_offset(const struct exe *exe, const struct exe_phdr *block)
{
	u64 align = block->align ? block->align : 1, first = -block->ea & (align - 1);

	if (exe->machine == EM_AARCH64)
		return ((TCB_BYTES_ARM64 + align - 1) & -align) + (block->ea & (align - 1));
	return -(((block->mem_bytes - first + align - 1) & -align) + first);
}

/* Is the relocation about the variable, by its symbol; or, bound within the file, about the block that it lies in? */
static bool is_about(const struct exe_data *symbols, const struct exe_data *strings, const Elf64_Rela *rela,
		     const struct symtab_wanted *variable)
{
	u64 index = ELF64_R_SYM(rela->r_info);
	size_t len = strlen(variable->name) + 1;
	Elf64_Sym symbol;

	if (!index)
		return true;
	if (index >= symbols->bytes / sizeof(symbol))
		return false;
	memcpy(&symbol, symbols->at + index * sizeof(symbol), sizeof(symbol));
	return symbol.st_name < strings->bytes && strings->bytes - symbol.st_name >= len &&
	       !memcmp(strings->at + symbol.st_name, variable->name, len);
}

/* From the place that a relocation is about to the variable; of a module, from the block's start on. */
static u64 distance(const Elf64_Rela *rela, enum tls_access access, const struct symtab_wanted *variable)
{
	u64 from_ea = ELF64_R_SYM(rela->r_info) ? variable->ea : 0;

	return access == TLS_MODULE ? variable->ea : variable->ea - from_ea - (u64)rela->r_addend;
}

/* Of several ways the one that needs the least of the process. */
static void find_slot(const struct exe *exe, const struct exe_section *section, const struct symtab_wanted *variable,
		      struct tls_variable *found)
{
	struct exe_data symbols, strings, relocations;
	Elf64_Rela rela;
	u32 read = 0;

	if (section->flags & SHF_COMPRESSED || !symtab_open(exe, SHT_DYNSYM, &symbols, &strings) ||
	    exe_section_data(exe, section, 0, &relocations) < 0)
		return;
	for (size_t at = 0; relocations.bytes - at >= sizeof(rela); at += sizeof(rela)) {
		enum tls_access access;

		memcpy(&rela, relocations.at + at, sizeof(rela));
		access = access_of(exe, (u32)ELF64_R_TYPE(rela.r_info));
		if (access && (!found->access || access < found->access) &&
		    is_about(&symbols, &strings, &rela, variable))
			*found = (struct tls_variable){ access, distance(&rela, access, variable), rela.r_offset,
							variable->bytes };
		if (++read % FORGET_EVERY == 0)
			exe_forget(exe);
	}
}

/* The block that a file's variables lie in; false if it has none, or is not of a kind that we know. */
static bool has_block(const struct exe *exe, struct exe_phdr *ret_block, bool *ret_program)
{
	*ret_block = (struct exe_phdr){ 0 };
	return exe->elf_class == ELFCLASS64 && (exe->machine == EM_X86_64 || exe->machine == EM_AARCH64) &&
	       find_block(exe, ret_block, ret_program);
}

static void find_access(const struct exe *exe, const struct exe_phdr *block, bool is_program,
			const struct symtab_wanted *variable, struct tls_variable *found)
{
	struct exe_section section;

	if (!variable->found || variable->ea >= block->mem_bytes)
		return;
	for (u32 i = 0; i < exe->section_count; i++)
		if (exe_section(exe, i, &section) && section.type == SHT_RELA)
			find_slot(exe, &section, variable, found);
	if (!found->access && is_program)
		*found = (struct tls_variable){ TLS_PROGRAM, program_offset(exe, block) + variable->ea, 0,
						variable->bytes };
}

/* In .symtab, too: always, or if the file exports nothing. How many are found. */
static int find_all(const struct exe *exe, struct symtab_wanted *wanted, u32 count, bool always,
		    struct tls_variable *ret_variables)
{
	struct exe_section section;
	struct exe_phdr block;
	bool is_program;
	int found = 0;

	if (!count || !has_block(exe, &block, &is_program))
		return 0;
	/* A program that was linked without shared libraries has all in .symtab. */
	if (symtab_find(exe, SHT_DYNSYM, wanted, count) < count &&
	    (always || !exe_section_typed(exe, SHT_DYNSYM, &section)))
		symtab_find(exe, SHT_SYMTAB, wanted, count);
	for (u32 i = 0; i < count; i++) {
		find_access(exe, &block, is_program, &wanted[i], &ret_variables[i]);
		found += ret_variables[i].access != TLS_NONE;
	}
	return found;
}

void tls_variables_exported(const struct exe *exe, const char *const *names, u32 count,
			    struct tls_variable *ret_variables)
{
	struct symtab_wanted wanted[TLS_WANTED_MAX];

	assert(count <= TLS_WANTED_MAX);
	memset(ret_variables, 0, count * sizeof(*ret_variables));
	for (u32 i = 0; i < count; i++)
		wanted[i] = (struct symtab_wanted){ .name = names[i], .type = STT_TLS };
	(void)find_all(exe, wanted, count, false, ret_variables);
}

int tls_variables_find(const struct exe *exe, const struct tls_wanted *wanted,
		       struct tls_variable ret_variables[TLS_WANTED_MAX])
{
	struct symtab_wanted variables[TLS_WANTED_MAX] = { 0 };

	memset(ret_variables, 0, TLS_WANTED_MAX * sizeof(*ret_variables));
	if (wanted->count > TLS_WANTED_MAX)
		return -EBADMSG;
	for (u32 i = 0; i < wanted->count; i++) {
		if (!memchr(wanted->name[i], '\0', TLS_NAME_BYTES))
			return -EBADMSG;
		variables[i] = (struct symtab_wanted){ .name = wanted->name[i], .type = STT_TLS };
	}
	return find_all(exe, variables, (u32)wanted->count, true, ret_variables);
}
