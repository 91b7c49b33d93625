// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/symfile.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/symtab.h"
#include "lang/jit/code_image.h"
#include "lang/jit/code_rows.h"
#include "lang/jit/code_table.h"

#define FUNCTIONS_COUNT_MAX 65536	/* of one file */
#define CODE_SECTIONS_MAX 16		/* ... that are unwound */
#define CODE_BYTES_MAX (1ull << 30)
#define CODE_VA_MAX (1ull << 52)	/* more than any process has */

static bool is_code(const struct exe_section *s)
{
	return s->flags & SHF_EXECINSTR && s->ea && s->bytes && s->bytes <= CODE_BYTES_MAX &&
	       s->ea < CODE_VA_MAX - CODE_BYTES_MAX;
}

/* A symbol's address in the process: as it is, or counted from where its section was loaded to. */
static bool place_symbol(const struct exe *exe, const Elf64_Sym *sym, u64 *ret_va, u64 *ret_bytes)
{
	struct exe_section s;
	u64 at;

	if (sym->st_shndx == SHN_ABS) {
		*ret_va = sym->st_value;
		*ret_bytes = sym->st_size;
		return sym->st_size && sym->st_size <= CODE_BYTES_MAX && sym->st_value < CODE_VA_MAX - CODE_BYTES_MAX;
	}
	if (!exe_section(exe, sym->st_shndx, &s) || !is_code(&s))
		return false;
	at = sym->st_value - s.ea < s.bytes ? sym->st_value - s.ea : sym->st_value;
	if (at >= s.bytes)
		return false;
	*ret_va = s.ea + at;
	*ret_bytes = sym->st_size && sym->st_size < s.bytes - at ? sym->st_size : s.bytes - at;
	return true;
}

static void add_functions(const struct exe *exe, struct code_table *table)
{
	struct exe_data symbols, strings;
	u32 count = 0;

	if (!symtab_open(exe, SHT_SYMTAB, &symbols, &strings))
		return;
	for (size_t at = 0; symbols.bytes - at >= sizeof(Elf64_Sym) && count < FUNCTIONS_COUNT_MAX;
	     at += sizeof(Elf64_Sym)) {
		size_t left, len;
		const char *name;
		Elf64_Sym sym;
		u64 va, bytes;

		memcpy(&sym, symbols.at + at, sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_name >= strings.bytes ||
		    !place_symbol(exe, &sym, &va, &bytes))
			continue;
		name = (const char *)strings.at + sym.st_name;
		/* No more is looked at than is kept: thousands of symbols may share a string of megabytes. */
		left = strings.bytes - sym.st_name;
		len = strnlen(name, left < CODE_NAME_MAX ? left : CODE_NAME_MAX);
		if (!len || len == left)
			continue;
		code_table_add(table, va, bytes, name, len, NULL, 0, 0);
		count++;
	}
}

/* What unwinds its code, where that is in the file as it is. */
static int open_frames(const struct exe *exe, struct exe_data *ret_data, struct code_frames *ret_frames)
{
	struct exe_section s;
	int r = -ENODATA;

	ret_frames->is_debug = !exe_section_named(exe, ".eh_frame", &s);
	if (!ret_frames->is_debug || exe_section_named(exe, ".debug_frame", &s))
		r = exe_section_data(exe, &s, CODE_IMAGE_FRAMES_MAX, ret_data);
	if (r < 0)
		return r;
	ret_frames->at = ret_data->at;
	ret_frames->bytes = ret_data->bytes;
	ret_frames->va = s.ea;
	return ret_data->bytes <= CODE_IMAGE_FRAMES_MAX ? 0 : -E2BIG;
}

/* The rows of a section of code, now if the file itself has them. */
static void add_rows(const struct exe *exe, const struct lang_process *process, const struct code_place *place,
		     struct code_table *table, struct code_rows *to)
{
	struct code_frames frames = { 0 };
	struct exe_data data = { 0 };
	struct rows *rows = NULL;

	if (exe->type != ET_REL && open_frames(exe, &data, &frames) == 0)
		(void)code_image_rows(process, table, place, &frames, &rows);
	exe_data_done(&data);
	code_rows_add(to, place, rows);
}

void symfile_take(const void *at, size_t bytes, const struct lang_process *process, struct code_table *table,
		  struct code_rows *rows)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct code_place place = { .first_name = table->count };
	struct exe_section s;
	u32 taken = 0;

	if (exe_open_mem(at, bytes, &exe) < 0)
		return;
	add_functions(exe, table);
	place.last_name = table->count;
	place.machine = exe->machine;
	if (exe->type == ET_REL && exe_section_named(exe, ".eh_frame", &s) && s.flags & SHF_ALLOC && s.ea) {
		place.frames_va = s.ea;
		place.frames_bytes = s.bytes;
	}
	for (u32 i = 0; i < exe->section_count && taken < CODE_SECTIONS_MAX; i++) {
		if (!exe_section(exe, i, &s) || !is_code(&s))
			continue;
		place.start_va = s.ea;
		place.end_va = s.ea + s.bytes;
		add_rows(exe, process, &place, table, rows);
		taken++;
	}
}
