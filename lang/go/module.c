// SPDX-License-Identifier: Apache-2.0
#include "lang/go/module.h"

#include <string.h>

#include "exe/elf.h"

/* Words of struct moduledata, the same from 1.18 to 1.27 up to etext. */
#define WORD_MINPC 20
#define WORD_MAXPC 21
#define WORD_TEXT  22
#define WORD_ETEXT 23
#define WORD_GOFUNC_FIRST 36	/* 1.18: 38, 1.20: 40, 1.27: 43 */
#define MODULE_WORDS 48

#define PLACES_MAX 8		/* words that point to the table; there are one or two */
#define DYNAMIC_MAX 1024
#define WRITABLE_MAX 8		/* segments to search */

/* The module data first lay among other data without pointers, since 1.26 alone. */
static const char *const section_names[] = { ".go.module", ".noptrdata" };

/* RELATIVE relocations: a word at r_offset becomes its addend, moved with the file. */
struct relocations {
	const u8 *at;
	size_t count;
	u32 type;
};

struct places {
	u64 ea[PLACES_MAX];
	u32 count;
};

static bool find_dynamic(const struct exe *exe, struct exe_phdr *ret_phdr)
{
	for (u32 i = 0; exe_phdr(exe, i, ret_phdr); i++)
		if (ret_phdr->type == PT_DYNAMIC)
			return true;
	return false;
}

static struct relocations find_relocations(const struct exe *exe)
{
	u32 type = exe->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	struct relocations relocations = { .type = type };
	u64 ea = 0, bytes = 0;
	struct exe_phdr phdr;

	if (!find_dynamic(exe, &phdr))
		return relocations;
	for (u32 i = 0; i < DYNAMIC_MAX; i++) {
		const u8 *at = exe_bytes_at(exe, phdr.ea + i * sizeof(Elf64_Dyn), sizeof(Elf64_Dyn));
		Elf64_Dyn dyn = { 0 };

		if (at)
			memcpy(&dyn, at, sizeof(dyn));
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_RELA)
			ea = dyn.d_un.d_ptr;
		if (dyn.d_tag == DT_RELASZ)
			bytes = dyn.d_un.d_val;
	}
	relocations.at = bytes ? exe_bytes_at(exe, ea, bytes) : NULL;
	relocations.count = relocations.at ? bytes / sizeof(Elf64_Rela) : 0;
	return relocations;
}

/* The place and the value of a relocation; false if it is of another type. */
static bool read_relocation(const struct relocations *relocations, size_t i, u64 *ret_ea, u64 *ret_value)
{
	Elf64_Rela rela;

	memcpy(&rela, relocations->at + i * sizeof(rela), sizeof(rela));
	*ret_ea = rela.r_offset;
	*ret_value = rela.r_addend;
	return ELF64_R_TYPE(rela.r_info) == relocations->type;
}

static void add_place(struct places *places, u64 ea)
{
	if (places->count < PLACES_MAX)
		places->ea[places->count++] = ea;
}

static void search_relocations(const struct relocations *relocations, u64 value, struct places *places)
{
	u64 ea, to;

	for (size_t i = 0; i < relocations->count; i++)
		if (read_relocation(relocations, i, &ea, &to) && to == value)
			add_place(places, ea);
}

static void search_range(const struct exe *exe, u64 fo, u64 ea, u64 bytes, u64 value, struct places *places)
{
	const u8 *at = exe_bytes(exe, fo, bytes);
	u64 word;

	for (u64 off = -ea & 7; at && bytes - off >= sizeof(word) && off < bytes; off += sizeof(word)) {
		memcpy(&word, at + off, sizeof(word));
		if (word == value)
			add_place(places, ea + off);
	}
}

static void search_sections(const struct exe *exe, u64 value, struct places *places)
{
	struct exe_section section;

	for (size_t i = 0; i < sizeof(section_names) / sizeof(section_names[0]); i++)
		if (exe_section_named(exe, section_names[i], &section) && section.type == SHT_PROGBITS)
			search_range(exe, section.fo, section.ea, section.bytes, value, places);
}

static void search_segments(const struct exe *exe, u64 value, struct places *places)
{
	for (u32 i = 0, n = 0; i < exe->load_count && n < WRITABLE_MAX; i++) {
		const struct exe_phdr *load = &exe->load[i];

		if (!(load->flags & PF_W))
			continue;
		search_range(exe, load->fo, load->ea, load->file_bytes, value, places);
		n++;
	}
}

static bool read_words(const struct exe *exe, const struct relocations *relocations, u64 module_ea, u64 *words)
{
	const u8 *at = exe_bytes_at(exe, module_ea, MODULE_WORDS * sizeof(*words));
	u64 ea, value;

	if (!at)
		return false;
	memcpy(words, at, MODULE_WORDS * sizeof(*words));
	for (size_t i = 0; i < relocations->count; i++)
		if (read_relocation(relocations, i, &ea, &value) && ea - module_ea < MODULE_WORDS * sizeof(*words))
			words[(ea - module_ea) / sizeof(*words)] = value;
	return true;
}

static bool read_module(const struct exe *exe, const struct relocations *relocations, u64 ea, u64 pclntab_ea,
			struct go_module *ret_module)
{
	struct go_module module = { .ea = ea };
	u64 words[MODULE_WORDS];

	if (!read_words(exe, relocations, ea, words) || words[0] != pclntab_ea ||
	    words[WORD_TEXT] > words[WORD_MINPC] || words[WORD_MINPC] >= words[WORD_MAXPC] ||
	    words[WORD_MAXPC] > words[WORD_ETEXT] || !exe_executable(exe, words[WORD_MINPC]))
		return false;
	module.text_ea = words[WORD_TEXT];
	for (u32 i = WORD_GOFUNC_FIRST; i < MODULE_WORDS && module.candidate_count < GO_MODULE_CANDIDATES; i++)
		if (!exe_executable(exe, words[i]) && exe_bytes_at(exe, words[i], 1))
			module.candidate[module.candidate_count++] = words[i];
	*ret_module = module;
	return true;
}

bool go_module_find(const struct exe *exe, u64 pclntab_ea, struct go_module *ret_module)
{
	struct relocations relocations = find_relocations(exe);

	for (u32 step = 0; step < 3; step++) {
		struct places places = { .count = 0 };

		if (step == 0)
			search_relocations(&relocations, pclntab_ea, &places);
		else if (step == 1)
			search_sections(exe, pclntab_ea, &places);
		else
			search_segments(exe, pclntab_ea, &places);
		for (u32 i = 0; i < places.count; i++)
			if (read_module(exe, &relocations, places.ea[i], pclntab_ea, ret_module))
				return true;
	}
	return false;
}
