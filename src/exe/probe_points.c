// SPDX-License-Identifier: Apache-2.0
#include "exe/probe_points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "exe/elf.h"
#include "exe/symtab.h"

#define NT_STAPSDT 3
#define NAMES_LOOKED_AT 200000	/* for one that is spelled nearly so */

/* Where a PT_LOAD has an address in the file; false: nowhere. */
static bool file_offset(const struct exe *exe, u64 ea, bool is_code, u64 *ret_fo)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *load = &exe->load[i];

		if (ea >= load->ea && ea - load->ea < load->file_bytes && (!is_code || load->flags & PF_X)) {
			*ret_fo = ea - load->ea + load->fo;
			return true;
		}
	}
	return false;
}

static void copy(char *to, size_t bytes, const char *from, size_t len)
{
	len = len < bytes - 1 ? len : bytes - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

/* ---- Functions ---- */

static void try_names(const struct exe *exe, u32 type, struct nearest *nearest, struct probe_points *points)
{
	struct exe_data symbols, strings;
	Elf64_Sym sym;

	if (!symtab_open(exe, type, &symbols, &strings))
		return;
	for (size_t i = 0; i < symbols.bytes / sizeof(sym) && i < NAMES_LOOKED_AT; i++) {
		const char *before = nearest->best, *name;
		char text[PROBE_POINT_NAME];

		memcpy(&sym, symbols.at + i * sizeof(sym), sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF || sym.st_name >= strings.bytes)
			continue;
		points->has_names = 1;
		name = (const char *)strings.at + sym.st_name;
		copy(text, sizeof(text), name, strnlen(name, strings.bytes - sym.st_name));
		nearest_try(nearest, text);
		if (nearest->best != before) {
			copy(points->nearest, sizeof(points->nearest), text, strlen(text));
			nearest->best = points->nearest;
		}
	}
}

static void find_nearest(const struct exe *exe, const struct probe_wanted *wanted, struct probe_points *points)
{
	struct nearest nearest;

	nearest_init(&nearest, wanted->name);
	try_names(exe, SHT_DYNSYM, &nearest, points);
	try_names(exe, SHT_SYMTAB, &nearest, points);
}

static bool find_symbol(const struct exe *exe, const char *name, u64 *ret_ea)
{
	struct symtab_wanted wanted = { .name = name };
	char *end;

	if (!strncmp(name, "0x", 2)) {
		*ret_ea = strtoull(name, &end, 16);
		return !*end && name[2];
	}
	if (!symtab_find(exe, SHT_DYNSYM, &wanted, 1) && !symtab_find(exe, SHT_SYMTAB, &wanted, 1))
		return false;
	*ret_ea = wanted.ea;
	return true;
}

static void find_function(const struct exe *exe, const struct probe_wanted *wanted, struct probe_points *points)
{
	u64 ea;

	if (find_symbol(exe, wanted->name, &ea))
		points->count = file_offset(exe, ea + wanted->offset, true, &points->at[0].fo);
	if (!points->count)
		find_nearest(exe, wanted, points);
}

/* ---- USDT ---- */

/* Three addresses, then three texts. */
struct marker {
	u64 place_ea, base_ea, semaphore_ea;
	const char *provider, *name, *arguments;
};

static bool take_text(const u8 **at, const u8 *end, const char **ret_text)
{
	const u8 *nul = memchr(*at, '\0', (size_t)(end - *at));

	*ret_text = (const char *)*at;
	*at = nul ? nul + 1 : end;
	return nul;
}

static bool take_marker(const struct exe_note *note, struct marker *ret_marker)
{
	const u8 *at, *end;
	struct marker m;

	if (!exe_note_is(note, "stapsdt", NT_STAPSDT) || note->desc_bytes < 3 * sizeof(u64))
		return false;
	at = note->desc + 3 * sizeof(u64);
	end = note->desc + note->desc_bytes;
	memcpy(&m.place_ea, note->desc, sizeof(u64));
	memcpy(&m.base_ea, note->desc + sizeof(u64), sizeof(u64));
	memcpy(&m.semaphore_ea, note->desc + 2 * sizeof(u64), sizeof(u64));
	if (!take_text(&at, end, &m.provider) || !take_text(&at, end, &m.name) || !take_text(&at, end, &m.arguments))
		return false;
	*ret_marker = m;
	return true;
}

static void add_marker(const struct exe *exe, const struct marker *m, u64 moved, struct probe_points *points)
{
	struct probe_place place = { 0 };

	if (!file_offset(exe, m->place_ea + moved, true, &place.fo))
		return;
	if (m->semaphore_ea && !file_offset(exe, m->semaphore_ea + moved, false, &place.semaphore_fo))
		return;
	if (points->count == PROBE_POINTS_MAX) {
		points->left_out++;
		return;
	}
	copy(place.arguments, sizeof(place.arguments), m->arguments, strlen(m->arguments));
	points->at[points->count++] = place;
}

static void find_markers(const struct exe *exe, const struct probe_wanted *wanted, const struct exe_data *data,
			 u64 base_ea, struct probe_points *points)
{
	struct exe_notes notes;
	struct exe_note note;
	struct nearest nearest;
	struct marker m;

	nearest_init(&nearest, wanted->name);
	exe_notes_init(&notes, data->at, data->bytes, 4);
	while (exe_notes_next(&notes, &note)) {
		if (!take_marker(&note, &m))
			continue;
		points->has_names = 1;
		nearest_try(&nearest, m.name);
		if (strcmp(m.name, wanted->name) || (*wanted->provider && strcmp(m.provider, wanted->provider)))
			continue;
		/* A file that was changed by prelink has moved since; .stapsdt.base moved along. */
		add_marker(exe, &m, base_ea ? base_ea - m.base_ea : 0, points);
	}
	if (!points->count && nearest.best)
		copy(points->nearest, sizeof(points->nearest), nearest.best, strlen(nearest.best));
}

static void find_usdt(const struct exe *exe, const struct probe_wanted *wanted, struct probe_points *points)
{
	struct exe_section section, base = { 0 };
	struct exe_data data;

	if (!exe_section_named(exe, ".note.stapsdt", &section) || section.flags & SHF_COMPRESSED ||
	    exe_section_data(exe, &section, 0, &data) < 0)
		return;
	(void)exe_section_named(exe, ".stapsdt.base", &base);
	find_markers(exe, wanted, &data, base.ea, points);
}

int probe_points_find(const struct exe *exe, const struct probe_wanted *wanted, struct probe_points *ret_points)
{
	memset(ret_points, 0, sizeof(*ret_points));
	if (exe->elf_class != ELFCLASS64)
		return -ENOEXEC;
	if (!memchr(wanted->name, '\0', sizeof(wanted->name)) ||
	    !memchr(wanted->provider, '\0', sizeof(wanted->provider)))
		return -EBADMSG;
	(wanted->is_usdt ? find_usdt : find_function)(exe, wanted, ret_points);
	return 0;
}

int probe_points_check(const void *at, size_t bytes)
{
	const struct probe_points *points = at;

	if (bytes != sizeof(*points) || points->count > PROBE_POINTS_MAX ||
	    !memchr(points->nearest, '\0', sizeof(points->nearest)))
		return -EBADMSG;
	for (u32 i = 0; i < points->count; i++)
		if (!memchr(points->at[i].arguments, '\0', sizeof(points->at[i].arguments)))
			return -EBADMSG;
	return 0;
}
