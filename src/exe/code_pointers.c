// SPDX-License-Identifier: Apache-2.0
#include "exe/code_pointers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "exe/elf.h"

#define DATA_BYTES_MAX (64u << 20)	/* looked at, of all sections */

void code_pointers_done(struct code_pointers *pointers)
{
	free(pointers->at);
	*pointers = (struct code_pointers){ 0 };
}

static void add(const struct exe *exe, u64 ea, struct code_pointers *pointers)
{
	if (!ea || ea - pointers->start_ea >= pointers->end_ea - pointers->start_ea ||
	    pointers->count == CODE_POINTERS_MAX || !exe_executable(exe, ea) ||
	    array_reserve(&pointers->at, &pointers->cap, pointers->count + 1, sizeof(*pointers->at)) < 0)
		return;
	pointers->at[pointers->count++] = ea;
}

static void add_words(const struct exe *exe, const struct exe_data *data, struct code_pointers *pointers)
{
	u64 word;

	for (size_t at = 0; at + sizeof(word) <= data->bytes; at += sizeof(word)) {
		memcpy(&word, data->at + at, sizeof(word));
		add(exe, word, pointers);
	}
}

static void add_relocations(const struct exe *exe, const struct exe_data *data, struct code_pointers *pointers)
{
	Elf64_Rela rela;

	for (size_t at = 0; at + sizeof(rela) <= data->bytes; at += sizeof(rela)) {
		memcpy(&rela, data->at + at, sizeof(rela));
		if (ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
			add(exe, (u64)rela.r_addend, pointers);
	}
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void settle(struct code_pointers *pointers)
{
	u32 kept = 0;

	if (!pointers->count)
		return;
	qsort(pointers->at, pointers->count, sizeof(*pointers->at), compare);
	for (u32 i = 0; i < pointers->count; i++)
		if (!kept || pointers->at[kept - 1] != pointers->at[i])
			pointers->at[kept++] = pointers->at[i];
	pointers->count = kept;
}

void code_pointers_find(const struct exe *exe, u64 start_ea, u64 end_ea, struct code_pointers *ret_pointers)
{
	bool is_fixed = exe->type == ET_EXEC;
	u64 left = DATA_BYTES_MAX;
	struct exe_section section;
	struct exe_data data;

	*ret_pointers = (struct code_pointers){ .start_ea = start_ea, .end_ea = end_ea };
	for (u32 i = 1; exe->elf_class == ELFCLASS64 && exe_section(exe, i, &section); i++) {
		bool words = is_fixed && section.flags & SHF_WRITE && section.flags & SHF_ALLOC &&
			     section.type != SHT_NOBITS;

		if ((!words && (is_fixed || section.type != SHT_RELA)) || section.flags & SHF_COMPRESSED ||
		    section.bytes > left || exe_section_data(exe, &section, 0, &data) < 0)
			continue;
		left -= section.bytes;
		if (words)
			add_words(exe, &data, ret_pointers);
		else
			add_relocations(exe, &data, ret_pointers);
	}
	settle(ret_pointers);
}

u32 code_pointers_from(const struct code_pointers *pointers, u64 ea)
{
	u32 lo = 0, hi = pointers->count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (pointers->at[mid] < ea)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
