/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up Go programs for tests: a text, its pclntab and the module data that leads to it, as Go 1.20 and later write
 * them. Tables of values are given as the bytes that the linker would write.
 */
#ifndef FORGE_GO_H
#define FORGE_GO_H

#include "base/types.h"
#include "forge.h"

#define FORGE_GO_TEXT 0x1000
#define FORGE_GO_TEXT_BYTES 0x1000
#define FORGE_GO_PCLNTAB 0x8000
#define FORGE_GO_MODULE 0x10000
#define FORGE_GO_FUNCDATA 0x12000
#define FORGE_GO_RELA 0x14000
#define FORGE_GO_DYNAMIC 0x15000
#define FORGE_GO_FILE 7		/* offset of "/src/b.go" */

struct forge_go_function {
	const char *name;
	u32 start;		/* in the text; it ends where the next one starts */
	u8 flags;
	const char *pcsp, *pcfile, *pcln, *inline_index;	/* or NULL */
	u32 tree;		/* 1 + offset into the function data, 0: none */
};

/* How the program is linked. */
struct forge_go_options {
	bool relocated;		/* pointers are in relocations alone */
	bool merged;		/* the pclntab has no section of its own */
	bool without_sections;
	bool arm64;
	const void *code;	/* FORGE_GO_TEXT_BYTES, or NULL */
	const void *funcdata;
	u32 funcdata_bytes;
};

struct forge_go {
	struct buf names, pctab, functions;
	u32 ftab[65];
	u32 count;
};

static inline u32 forge_go_table(struct forge_go *go, const char *table)
{
	u32 at = go->pctab.len;

	if (!table)
		return 0;
	buf_add(&go->pctab, table, strlen(table) + 1);
	return at;
}

static inline void forge_go_add(struct forge_go *go, const struct forge_go_function *function, u32 ftab_bytes)
{
	u32 name = go->names.len;
	u32 words[] = {
		function->start, name, 0, 0, forge_go_table(go, function->pcsp), forge_go_table(go, function->pcfile),
		forge_go_table(go, function->pcln), 3, 0, 10, (u32)function->flags << 8 | 4u << 24,
		0, 0, forge_go_table(go, function->inline_index),
		~0u, ~0u, ~0u, function->tree ? function->tree - 1 : ~0u,
	};

	buf_add(&go->names, function->name, strlen(function->name) + 1);
	go->ftab[go->count * 2] = function->start;
	go->ftab[go->count * 2 + 1] = ftab_bytes + go->functions.len;
	buf_add(&go->functions, words, sizeof(words));
	go->count++;
}

/* The pclntab: header, names, units, files, pctab, ftab and functions. */
static inline struct buf forge_go_pclntab(const struct forge_go_function *functions, u32 count, u32 magic)
{
	static const char files[] = "\0/a.go\0/src/b.go\0/src/c.go";
	static const u32 units[] = { 1, FORGE_GO_FILE, FORGE_GO_FILE + 10 };
	struct forge_go go = { .count = 0 };
	u32 ftab_bytes = count * 8 + 4;
	u64 header[9] = { magic | 1ull << 48 | 8ull << 56, count, 3, 0, sizeof(header) };
	struct buf out;

	OK(count <= 32);
	buf_init(&go.names, 1 << 16);
	buf_init(&go.pctab, 1 << 16);
	buf_init(&go.functions, 1 << 16);
	buf_init(&out, 1 << 20);
	buf_add(&go.names, "", 1);
	buf_add(&go.pctab, "", 1);
	for (u32 i = 0; i < count; i++)
		forge_go_add(&go, &functions[i], ftab_bytes);
	go.ftab[count * 2] = FORGE_GO_TEXT_BYTES;
	buf_add(&go.names, "\0\0\0", -go.names.len % 4);
	header[5] = header[4] + go.names.len;
	header[6] = header[5] + sizeof(units);
	header[7] = header[6] + sizeof(files);
	header[8] = header[7] + go.pctab.len;
	buf_add(&out, header, sizeof(header));
	buf_add(&out, go.names.data, go.names.len);
	buf_add(&out, units, sizeof(units));
	buf_add(&out, files, sizeof(files));
	buf_add(&out, go.pctab.data, go.pctab.len);
	buf_add(&out, go.ftab, ftab_bytes);
	buf_add(&out, go.functions.data, go.functions.len);
	buf_done(&go.names);
	buf_done(&go.pctab);
	buf_done(&go.functions);
	return out;
}

/* The module data; where it is relocated, its pointers are in .rela.dyn. */
static inline void forge_go_module(struct forge *f, bool relocated)
{
	u64 words[64] = { [0] = FORGE_GO_PCLNTAB, [20] = FORGE_GO_TEXT, [21] = FORGE_GO_TEXT + FORGE_GO_TEXT_BYTES,
			  [22] = FORGE_GO_TEXT, [23] = FORGE_GO_TEXT + FORGE_GO_TEXT_BYTES,
			  [37] = FORGE_GO_PCLNTAB, [40] = FORGE_GO_FUNCDATA };
	Elf64_Rela relocations[8];
	Elf64_Dyn dynamic[] = { { DT_RELA, { FORGE_GO_RELA } }, { DT_RELASZ, { 0 } }, { DT_NULL, { 0 } } };
	u32 count = 0;

	for (u32 i = 0; relocated && i < 64; i++) {
		if (!words[i])
			continue;
		relocations[count].r_offset = FORGE_GO_MODULE + i * 8;
		relocations[count].r_info = R_X86_64_RELATIVE;
		relocations[count++].r_addend = (Elf64_Sxword)words[i];
		words[i] = 0;
	}
	forge_section(f, ".go.module", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, FORGE_GO_MODULE, words, sizeof(words));
	f->phdr[f->ehdr.e_phnum - 1].p_flags |= PF_W;
	if (!relocated)
		return;
	dynamic[1].d_un.d_val = count * sizeof(relocations[0]);
	forge_section(f, ".rela.dyn", SHT_RELA, SHF_ALLOC, FORGE_GO_RELA, relocations, count * sizeof(relocations[0]));
	forge_section(f, ".dynamic", SHT_DYNAMIC, SHF_ALLOC, FORGE_GO_DYNAMIC, dynamic, sizeof(dynamic));
	forge_phdr(f, PT_DYNAMIC, &f->shdr[f->ehdr.e_shnum - 1]);
}

/* All but forge_finish(). */
static inline void forge_go(struct forge *f, const struct forge_go_function *functions, u32 count,
			    const struct forge_go_options *options)
{
	static const u8 nothing[FORGE_GO_TEXT_BYTES];
	struct buf table = forge_go_pclntab(functions, count, 0xfffffff1);

	if (options->arm64)
		((u8 *)table.data)[6] = 4;	/* bytes of an instruction */
	forge_init(f, options->arm64 ? EM_AARCH64 : EM_X86_64);
	forge_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, FORGE_GO_TEXT,
		      options->code ? options->code : nothing, FORGE_GO_TEXT_BYTES);
	forge_section(f, options->merged ? ".data.rel.ro" : ".gopclntab", SHT_PROGBITS, SHF_ALLOC, FORGE_GO_PCLNTAB,
		      table.data, table.len);
	if (options->merged)
		forge_section(f, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, 0x30000, "go", 2);
	forge_go_module(f, options->relocated);
	if (options->funcdata)
		forge_section(f, ".rodata", SHT_PROGBITS, SHF_ALLOC, FORGE_GO_FUNCDATA, options->funcdata,
			      options->funcdata_bytes);
	buf_done(&table);
}

static inline void forge_go_finish(struct forge *f, const struct forge_go_options *options)
{
	Elf64_Ehdr ehdr;

	forge_finish(f);
	if (!options->without_sections)
		return;
	memcpy(&ehdr, f->b.data, sizeof(ehdr));
	ehdr.e_shoff = ehdr.e_shnum = ehdr.e_shstrndx = 0;
	memcpy(f->b.data, &ehdr, sizeof(ehdr));
}

#endif
