// SPDX-License-Identifier: Apache-2.0
#include "exe/tls_variable.h"

#include <errno.h>

#include "exe/elf.h"
#include "exe/lang_file.h"
#include "forge.h"
#include "forge_symbols.h"
#include "test.h"

#define NAME "otel_thread_ctx_v1"
#define VARIABLE_EA 0x110

static const struct sym symbols[] = {
	{ "other", 0x8, 8, STT_TLS, STB_GLOBAL },
	{ NAME, VARIABLE_EA, 8, STT_TLS, STB_GLOBAL },
};

struct shape {
	u32 machine, table;
	Elf64_Rela relocations[4];
	u32 relocation_count;
	u64 block_bytes, block_align, block_ea;
	bool is_program, is_without_block;
};

static void forge_shape(struct forge *f, const struct shape *shape)
{
	forge_init(f, shape->machine);
	if (shape->is_program)
		f->ehdr.e_type = ET_EXEC;
	forge_symbols(f, shape->table == SHT_DYNSYM ? ".dynsym" : ".symtab", shape->table, symbols, 2);
	if (shape->relocation_count)
		forge_section(f, ".rela.dyn", SHT_RELA, 0, 0, shape->relocations,
			      shape->relocation_count * sizeof(shape->relocations[0]));
	if (!shape->is_without_block)
		f->phdr[f->ehdr.e_phnum++] = (Elf64_Phdr){ .p_type = PT_TLS, .p_memsz = shape->block_bytes,
							  .p_align = shape->block_align, .p_vaddr = shape->block_ea };
	forge_finish(f);
}

static struct tls_variable find(const struct shape *shape)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct tls_variable variable;

	forge_shape(&f, shape);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	tls_variables_exported(exe, (const char *const[]){ NAME }, 1, &variable);
	return variable;
}

TEST(tls_variable_of_a_program_is_where_the_abi_says)
{
	struct shape shape = { .machine = EM_X86_64, .table = SHT_DYNSYM, .block_bytes = 0x125, .block_align = 16,
			       .is_program = true };
	struct tls_variable found = find(&shape);

	EQ(found.access, TLS_PROGRAM);
	EQ(found.offset, (u64)-0x130 + VARIABLE_EA);
	shape.machine = EM_AARCH64;
	shape.block_align = 64;
	EQ(find(&shape).offset, 64 + VARIABLE_EA);
	shape.block_align = 8;
	EQ(find(&shape).offset, 16 + VARIABLE_EA);
	shape.table = SHT_SYMTAB;
	EQ(find(&shape).access, TLS_PROGRAM);
}

TEST(tls_variable_of_a_library_is_where_its_relocation_says)
{
	struct shape shape = { .machine = EM_X86_64, .table = SHT_DYNSYM, .block_bytes = 0x200, .block_align = 8,
			       .relocations = { { 0x3000, ELF64_R_INFO(1, 36), 0 },
						{ 0x4000, ELF64_R_INFO(2, 16), 0 },
						{ 0x4008, ELF64_R_INFO(2, 17), 0 },
						{ 0x5000, ELF64_R_INFO(2, 36), 0 } },
			       .relocation_count = 3 };
	struct tls_variable found = find(&shape);

	EQ(found.access, TLS_MODULE);
	EQ(found.slot_ea, 0x4000);
	EQ(found.offset, VARIABLE_EA);
	/* What is needed less of the process goes first. */
	shape.relocation_count = 4;
	found = find(&shape);
	EQ(found.access, TLS_DESCRIPTOR);
	EQ(found.slot_ea, 0x5000);
	shape.relocations[2].r_info = ELF64_R_INFO(2, 18);
	EQ(find(&shape).access, TLS_OFFSET);
	shape.machine = EM_AARCH64;
	EQ(find(&shape).access, TLS_NONE);
	shape.relocations[3].r_info = ELF64_R_INFO(2, 1031);
	EQ(find(&shape).access, TLS_DESCRIPTOR);
}

TEST(tls_variable_that_is_bound_within_its_file_is_found_by_its_place)
{
	struct shape shape = { .machine = EM_X86_64, .table = SHT_DYNSYM, .block_bytes = 0x200, .block_align = 8,
			       .relocations = { { 0x3000, ELF64_R_INFO(0, 36), 8 }, { 0x4000, ELF64_R_INFO(0, 36),
						  VARIABLE_EA } }, .relocation_count = 2 };

	EQ(find(&shape).slot_ea, 0x3000);
	EQ(find(&shape).offset, VARIABLE_EA - 8);	/* counted from another one of the same block */
	shape.relocations[0].r_info = ELF64_R_INFO(1, 36);
	EQ(find(&shape).slot_ea, 0x4000);
	EQ(find(&shape).offset, 0);
	shape.relocation_count = 1;
	EQ(find(&shape).access, TLS_NONE);
	shape.relocations[0] = (Elf64_Rela){ 0x6000, ELF64_R_INFO(0, 16), 0 };
	EQ(find(&shape).access, TLS_MODULE);
}

TEST(tls_variable_is_none_where_the_file_makes_no_sense)
{
	struct shape shape = { .machine = EM_X86_64, .table = SHT_DYNSYM, .block_bytes = 0x100, .block_align = 8,
			       .is_program = true };

	EQ(find(&shape).access, TLS_NONE);	/* past its block */
	shape.block_bytes = 0x200;
	EQ(find(&shape).access, TLS_PROGRAM);
	shape.block_align = 24;
	EQ(find(&shape).access, TLS_NONE);
	shape.block_align = 8;
	shape.is_without_block = true;
	EQ(find(&shape).access, TLS_NONE);
	shape.is_without_block = false;
	shape.relocations[0] = (Elf64_Rela){ 0x6000, ELF64_R_INFO(77, 36), 0 };
	shape.relocation_count = 1;
	EQ(find(&shape).access, TLS_PROGRAM);
	shape.machine = EM_RISCV;
	EQ(find(&shape).access, TLS_NONE);
}

static int find_wanted(const struct shape *shape, const struct tls_wanted *wanted,
		       struct tls_variable ret_variables[TLS_WANTED_MAX])
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_shape(&f, shape);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	return tls_variables_find(exe, wanted, ret_variables);
}

TEST(tls_variables_that_are_wanted_are_found_with_their_sizes)
{
	struct shape shape = { .machine = EM_X86_64, .table = SHT_DYNSYM, .block_bytes = 0x200, .block_align = 8,
			       .is_program = true };
	struct tls_wanted wanted = { .count = 3, .name = { "nobody's", "other", NAME } };
	struct tls_variable found[TLS_WANTED_MAX];

	EQ(find_wanted(&shape, &wanted, found), 2);
	EQ(found[0].access, TLS_NONE);
	EQ(found[1].access, TLS_PROGRAM);
	EQ(found[1].offset, (u64)-0x200 + 8);
	EQ(found[1].bytes, 8);
	EQ(found[2].offset, (u64)-0x200 + VARIABLE_EA);
	shape.table = SHT_SYMTAB;
	EQ(find_wanted(&shape, &wanted, found), 2);
	/* A library that does not export it, bound within itself. */
	shape.is_program = false;
	shape.relocations[0] = (Elf64_Rela){ 0x6000, ELF64_R_INFO(0, 16), 0 };
	shape.relocation_count = 1;
	EQ(find_wanted(&shape, &wanted, found), 0);	/* there is no .dynsym at all */
	wanted.count = TLS_WANTED_MAX + 1;
	EQ(find_wanted(&shape, &wanted, found), -EBADMSG);
	wanted.count = 1;
	memset(wanted.name[0], 'x', TLS_NAME_BYTES);
	EQ(find_wanted(&shape, &wanted, found), -EBADMSG);
	wanted.count = 0;
	EQ(find_wanted(&shape, &wanted, found), 0);
}

TEST(lang_file_tells_of_wanted_variables_in_a_file_of_no_language)
{
	struct shape shape = { .machine = EM_X86_64, .table = SHT_DYNSYM, .block_bytes = 0x100, .block_align = 8,
			       .is_program = true };
	struct tls_wanted wanted = { .count = 1, .name = { "other" } };
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	static struct lang_file file;

	forge_shape(&f, &shape);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(lang_file_find(exe, NULL, &file), -ENODATA);
	EQ(lang_file_find(exe, &wanted, &file), 0);
	EQ(file.requests[REQUEST_OTEL].access, TLS_NONE);
	EQ(file.labels[0].access, TLS_PROGRAM);
	EQ(lang_file_check(&file, sizeof(file)), 0);
	file.labels[3].access = TLS_MODULE + 1;
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
}

TEST(lang_file_tells_of_a_variable_in_a_file_of_no_language)
{
	struct shape shape = { .machine = EM_X86_64, .table = SHT_DYNSYM, .block_bytes = 0x200, .block_align = 8,
			       .is_program = true };
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	static struct lang_file file;

	forge_shape(&f, &shape);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(lang_file_find(exe, NULL, &file), 0);
	EQ(file.lang, 0);
	EQ(file.requests[REQUEST_OTEL].access, TLS_PROGRAM);
	EQ(lang_file_check(&file, sizeof(file)), 0);
	file.requests[REQUEST_OTEL].access = TLS_MODULE + 1;
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
	file.requests[REQUEST_OTEL].access = TLS_NONE;
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
}

TEST(lang_file_tells_of_an_apm_agents_variables)
{
	static const struct sym agents[] = {
		{ "elastic_apm_profiling_correlation_tls_v1", 0x10, 8, STT_TLS, STB_GLOBAL },
		{ APM_STORAGE, 0x42760, 8, STT_OBJECT, STB_GLOBAL },
	};
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	static struct lang_file file;

	forge_init(&f, EM_X86_64);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, agents, 2);
	forge_section(&f, ".rela.dyn", SHT_RELA, 0, 0, &(Elf64_Rela){ 0x5000, ELF64_R_INFO(1, 36), 0 },
		      sizeof(Elf64_Rela));
	f.phdr[f.ehdr.e_phnum++] = (Elf64_Phdr){ .p_type = PT_TLS, .p_memsz = 0x18, .p_align = 8 };
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(lang_file_find(exe, NULL, &file), 0);
	EQ(file.requests[REQUEST_OTEL].access, TLS_NONE);
	EQ(file.requests[REQUEST_APM].access, TLS_DESCRIPTOR);
	EQ(file.apm_storage_ea, 0x42760);
	EQ(lang_file_check(&file, sizeof(file)), 0);
	file.requests[REQUEST_APM].access = TLS_MODULE + 1;
	EQ(lang_file_check(&file, sizeof(file)), -EBADMSG);
}
