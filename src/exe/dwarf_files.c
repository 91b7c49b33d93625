// SPDX-License-Identifier: Apache-2.0
#include "exe/dwarf_files.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <gelf.h>

#define UNPACKED_MAX (64u << 20)	/* bytes of compressed sections, unpacked */
#define HEAP_MAX (6u << 20)	/* bytes of malloc(), above which they are closed */

static const char *const text_names[DWARF_TEXTS] = { ".debug_str", ".debug_line_str", ".debug_info", ".debug_types" };

static void unmap(struct dwarf_mapped *mapped)
{
	if (mapped->dwarf)
		dwarf_end(mapped->dwarf);
	if (mapped->elf)
		elf_end(mapped->elf);
	*mapped = (struct dwarf_mapped){ 0 };
}

/* A section's bytes, decompressed if need be (libdw has seen to that). */
static void find_section(Elf *elf, const char *name, struct line_section *ret_section)
{
	size_t names;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *found = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		Elf_Data *data;

		if (!found || strcmp(found, name))
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			*ret_section = (struct line_section){ data->d_buf, data->d_size };
		return;
	}
}

/* What compressed sections take in memory. libdw unpacks all that it knows, at once. */
static u64 unpacked_bytes(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Chdr header;
	u64 sum = 0;

	while ((scn = elf_nextscn(elf, scn)) && sum <= UNPACKED_MAX)
		if (gelf_getchdr(scn, &header))
			sum += header.ch_size < UNPACKED_MAX ? header.ch_size : UNPACKED_MAX + 1;
	return sum;
}

static int map(int fd, struct dwarf_mapped *ret_mapped)
{
	struct dwarf_mapped mapped = { .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL) };

	if (mapped.elf && elf_kind(mapped.elf) == ELF_K_ELF) {
		if (unpacked_bytes(mapped.elf) > UNPACKED_MAX) {
			unmap(&mapped);
			return -E2BIG;
		}
		mapped.at = elf_rawfile(mapped.elf, &mapped.bytes);
		mapped.dwarf = dwarf_begin_elf(mapped.elf, DWARF_C_READ, NULL);
	}
	if (!mapped.at || !mapped.dwarf) {
		unmap(&mapped);
		return -ENODATA;
	}
	for (int i = 0; i < DWARF_TEXTS; i++)
		find_section(mapped.elf, text_names[i], &mapped.text[i]);
	(void)elf_cntl(mapped.elf, ELF_C_FDDONE);
	*ret_mapped = mapped;
	return 0;
}

static void identify(int fd, struct dwarf_identity *ret_identity)
{
	struct stat stat;

	memset(ret_identity, 0, sizeof(*ret_identity));
	if (fd < 0 || fstat(fd, &stat) < 0)
		return;
	ret_identity->dev = stat.st_dev;
	ret_identity->ino = stat.st_ino;
	ret_identity->bytes = stat.st_size;
	ret_identity->changed = stat.st_mtim;
}

static void file_close(struct dwarf_file *file)
{
	dwarf_index_done(&file->index);
	unmap(&file->main);
	unmap(&file->supplement);
	*file = (struct dwarf_file){ 0 };
}

/* DWARF is in the debug file if there is one that has some, else in the executable. */
static int file_open(struct dwarf_file *file, int fd, int debug_fd, int alt_fd)
{
	int r = debug_fd >= 0 ? map(debug_fd, &file->main) : -ENODATA;

	if (r == -ENODATA)
		r = map(fd, &file->main);
	if (r < 0)
		return r;
	if (alt_fd >= 0 && map(alt_fd, &file->supplement) == 0)
		dwarf_setalt(file->main.dwarf, file->supplement.dwarf);
	find_section(file->main.elf, ".debug_line", &file->sections.line);
	file->sections.line_str = file->main.text[DWARF_TEXT_LINE_STR];
	file->sections.str = file->main.text[DWARF_TEXT_STR];
	return dwarf_index_init(&file->index, file->main.dwarf, file->main.at, file->main.bytes);
}

static bool same(const struct dwarf_identity *a, const struct dwarf_identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->bytes == b->bytes && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

int dwarf_files_get(struct dwarf_files *files, int fd, int debug_fd, int alt_fd, struct dwarf_file **ret_file)
{
	struct dwarf_file *oldest = &files->file[0];
	struct dwarf_identity exe, debug, alt;
	int r;

	identify(fd, &exe);
	identify(debug_fd, &debug);
	identify(alt_fd, &alt);
	for (struct dwarf_file *file = files->file; file < files->file + DWARF_FILES_MAX; file++) {
		if (file->used && same(&file->exe, &exe) && same(&file->debug, &debug) && same(&file->alt, &alt)) {
			file->used = ++files->uses;
			*ret_file = file;
			return 0;
		}
		if (file->used < oldest->used)
			oldest = file;
	}
	file_close(oldest);
	r = file_open(oldest, fd, debug_fd, alt_fd);
	if (r < 0) {
		file_close(oldest);
		return r;
	}
	oldest->exe = exe;
	oldest->debug = debug;
	oldest->alt = alt;
	oldest->used = ++files->uses;
	*ret_file = oldest;
	return 0;
}

void dwarf_files_init(struct dwarf_files *files)
{
	elf_version(EV_CURRENT);
	*files = (struct dwarf_files){ 0 };
}

void dwarf_files_done(struct dwarf_files *files)
{
	for (int i = 0; i < DWARF_FILES_MAX; i++)
		file_close(&files->file[i]);
}

static void forget_pages(const struct dwarf_mapped *mapped)
{
	if (mapped->at)
		(void)madvise(mapped->at, mapped->bytes, MADV_DONTNEED);
}

void dwarf_file_forget(const struct dwarf_file *file)
{
	forget_pages(&file->main);
	forget_pages(&file->supplement);
}

void dwarf_files_rest(struct dwarf_files *files)
{
	struct mallinfo2 heap = mallinfo2();
	bool full = heap.uordblks + heap.hblkhd > HEAP_MAX;

	for (struct dwarf_file *file = files->file; file < files->file + DWARF_FILES_MAX; file++) {
		if (file->used && full)
			file_close(file);
		dwarf_file_forget(file);
	}
	if (full)
		malloc_trim(0);
}
