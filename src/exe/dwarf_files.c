// SPDX-License-Identifier: Apache-2.0
#include "exe/dwarf_files.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <gelf.h>

#define UNPACKED_MAX (64u << 20)	/* bytes of compressed sections, unpacked */

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

static bool is_unused(const char *name)
{
	static const char *const unused[] = {
		".debug_aranges", ".debug_frame", ".debug_gnu_pubnames", ".debug_gnu_pubtypes",
		".debug_loc", ".debug_loclists", ".debug_macinfo", ".debug_macro",
		".debug_names", ".debug_pubnames", ".debug_pubtypes",
	};

	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		if (!strcmp(name, unused[i]))
			return true;
	return false;
}

/*
 * libdw unpacks all sections that it knows, at once. Those that we never ask it about, a seventh of libc's, are kept
 * from it: it leaves out what has no bytes in the file. What changes is libelf's copy of the section headers.
 */
static void hide_unused(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (!name || !(header.sh_flags & SHF_COMPRESSED) || !is_unused(name))
			continue;
		header.sh_type = SHT_NOBITS;
		header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
		(void)gelf_update_shdr(scn, &header);
	}
}

/* What compressed sections take in memory. */
static u64 unpacked_bytes(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	GElf_Chdr packed;
	u64 sum = 0;

	while ((scn = elf_nextscn(elf, scn)) && sum <= UNPACKED_MAX)
		if (gelf_getshdr(scn, &header) && header.sh_flags & SHF_COMPRESSED && gelf_getchdr(scn, &packed))
			sum += packed.ch_size < UNPACKED_MAX ? packed.ch_size : UNPACKED_MAX + 1;
	return sum;
}

/* Unpacks section by section, so that what they are unpacked from is not in memory as a whole too. */
static void unpack(const struct dwarf_mapped *mapped)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(mapped->elf, scn))) {
		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_COMPRESSED))
			continue;
		(void)elf_compress(scn, 0, 0);	/* libdw tries again, and says what it lacks */
		forget_pages(mapped);
	}
}

/* Bytes of malloc(). */
static u64 heap_bytes(void)
{
	struct mallinfo2 heap = mallinfo2();

	return heap.uordblks + heap.hblkhd;
}

static void file_close(struct dwarf_file *file)
{
	dwarf_index_done(&file->index);
	unmap(&file->main);
	unmap(&file->supplement);
	*file = (struct dwarf_file){ 0 };
}

static struct dwarf_file *oldest_file(struct dwarf_files *files)
{
	struct dwarf_file *oldest = NULL;

	for (struct dwarf_file *file = files->file; file < files->file + DWARF_FILES_MAX; file++)
		if (file->open && (!oldest || file->used < oldest->used))
			oldest = file;
	return oldest;
}

/* Closes files, the one used least recently first, until there is room for so much more, or none is left. */
static void make_room(struct dwarf_files *files, u64 bytes)
{
	struct dwarf_file *oldest;
	bool closed = false;

	while (heap_bytes() + bytes > DWARF_KEPT_MAX && (oldest = oldest_file(files))) {
		file_close(oldest);
		closed = true;
	}
	if (closed)
		malloc_trim(0);
}

static int map(struct dwarf_files *files, int fd, struct dwarf_mapped *ret_mapped)
{
	struct dwarf_mapped mapped = { .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL) };

	if (mapped.elf && elf_kind(mapped.elf) == ELF_K_ELF) {
		u64 bytes;

		hide_unused(mapped.elf);
		bytes = unpacked_bytes(mapped.elf);
		if (bytes > UNPACKED_MAX) {
			unmap(&mapped);
			return -E2BIG;
		}
		make_room(files, bytes);
		mapped.at = elf_rawfile(mapped.elf, &mapped.bytes);
		unpack(&mapped);
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

/* DWARF is in the debug file if there is one that has some, else in the executable. */
static int file_open(struct dwarf_files *files, int fd, int debug_fd, int alt_fd, struct dwarf_file *file)
{
	int r = debug_fd >= 0 ? map(files, debug_fd, &file->main) : -ENODATA;

	if (r == -ENODATA)
		r = map(files, fd, &file->main);
	if (r < 0)
		return r;
	if (alt_fd >= 0 && map(files, alt_fd, &file->supplement) == 0)
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

/* A place for a file: an empty one, or that of the file used least recently, which is closed. */
static struct dwarf_file *free_place(struct dwarf_files *files)
{
	struct dwarf_file *place = files->file;

	while (place < files->file + DWARF_FILES_MAX && place->open)
		place++;
	if (place < files->file + DWARF_FILES_MAX)
		return place;
	place = oldest_file(files);
	file_close(place);
	return place;
}

static struct dwarf_file *find_file(struct dwarf_files *files, const struct dwarf_file *like)
{
	for (struct dwarf_file *file = files->file; file < files->file + DWARF_FILES_MAX; file++)
		if (file->open && same(&file->exe, &like->exe) && same(&file->debug, &like->debug) &&
		    same(&file->alt, &like->alt))
			return file;
	return NULL;
}

int dwarf_files_get(struct dwarf_files *files, int fd, int debug_fd, int alt_fd, u64 now_ns,
		    struct dwarf_file **ret_file)
{
	struct dwarf_file opened = { 0 }, *file;
	int r;

	identify(fd, &opened.exe);
	identify(debug_fd, &opened.debug);
	identify(alt_fd, &opened.alt);
	file = find_file(files, &opened);
	if (!file) {
		r = file_open(files, fd, debug_fd, alt_fd, &opened);
		if (r < 0) {
			file_close(&opened);
			return r;
		}
		opened.open = true;
		file = free_place(files);
		*file = opened;
		files->opened++;
	}
	file->used = ++files->uses;
	file->used_ns = now_ns;
	*ret_file = file;
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

void dwarf_files_rest(struct dwarf_files *files, u64 now_ns)
{
	bool closed = false;

	for (struct dwarf_file *file = files->file; file < files->file + DWARF_FILES_MAX; file++) {
		dwarf_file_forget(file);
		if (!file->open || now_ns - file->used_ns < DWARF_KEPT_NS)
			continue;
		file_close(file);
		closed = true;
	}
	if (closed)
		malloc_trim(0);
	make_room(files, 0);
}
