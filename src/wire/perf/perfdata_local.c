// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfdata_local.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "exe/elf.h"

#define PHDRS_MAX 64
#define SECTIONS_MAX 1024
#define NOTES_BYTES_MAX 4096

static bool read_at(int fd, u64 offset, void *ret_at, size_t bytes)
{
	return offset <= INT64_MAX && pread(fd, ret_at, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool has_id_in(int fd, const Elf64_Phdr *phdr, const u8 *id, u32 id_bytes)
{
	u8 bytes[NOTES_BYTES_MAX];
	size_t count = phdr->p_filesz < sizeof(bytes) ? phdr->p_filesz : sizeof(bytes);
	struct exe_notes notes;
	struct exe_note note;

	if (!read_at(fd, phdr->p_offset, bytes, count))
		return false;
	exe_notes_init(&notes, bytes, count, phdr->p_align);
	while (exe_notes_next(&notes, &note))
		if (exe_note_is(&note, ELF_NOTE_GNU, NT_GNU_BUILD_ID))
			return note.desc_bytes == id_bytes && !memcmp(note.desc, id, id_bytes);
	return false;
}

static bool has_id(int fd, const Elf64_Ehdr *ehdr, const u8 *id, u32 id_bytes)
{
	Elf64_Phdr phdr;

	for (u32 i = 0; i < ehdr->e_phnum && i < PHDRS_MAX; i++) {
		if (!read_at(fd, ehdr->e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return false;
		if (phdr.p_type == PT_NOTE && has_id_in(fd, &phdr, id, id_bytes))
			return true;
	}
	return false;
}

/* The table of symbols: its section header. */
static bool find_symtab(int fd, const Elf64_Ehdr *ehdr, Elf64_Shdr *ret_section)
{
	Elf64_Shdr section;

	for (u32 i = 0; i < ehdr->e_shnum && i < SECTIONS_MAX; i++) {
		if (!read_at(fd, ehdr->e_shoff + i * sizeof(section), &section, sizeof(section)))
			return false;
		if (section.sh_type == SHT_SYMTAB) {
			*ret_section = section;
			return true;
		}
	}
	return false;
}

/* Opening a device has effects of its own (a watchdog starts): so look first, by a descriptor that does not open. */
static int open_regular(const char *path)
{
	_cleanup_(closep) int place = open(path, O_PATH | O_CLOEXEC);
	char reopen[64];
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	(void)snprintf(reopen, sizeof(reopen), "/proc/self/fd/%d", place);
	return open(reopen, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* A descriptor of the file, or -1 if it is none that perf could read. */
static int open_elf(const char *path, Elf64_Ehdr *ret_ehdr)
{
	_cleanup_(closep) int fd = open_regular(path);
	int taken = fd;

	if (fd < 0 || !read_at(fd, 0, ret_ehdr, sizeof(*ret_ehdr)) ||
	    memcmp(ret_ehdr->e_ident, ELFMAG, SELFMAG) != 0 || ret_ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ret_ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return -1;
	fd = -1;
	return taken;
}

bool perfdata_local_find(const char *path, const u8 *build_id, u32 build_id_bytes, struct perfdata_local *ret_local)
{
	Elf64_Ehdr ehdr;
	Elf64_Shdr symtab;
	_cleanup_(closep) int fd = open_elf(path, &ehdr);

	if (fd < 0 || !has_id(fd, &ehdr, build_id, build_id_bytes))
		return false;
	*ret_local = (struct perfdata_local){ .has_symbols = find_symtab(fd, &ehdr, &symtab) };
	return true;
}

void perfdata_local_done(struct perfdata_local *local)
{
	free(local->functions);
}

/* ---- Functions --------------------------------------------------------------------------- */

/* Where in the file an address is, 0 if it is not. */
static u64 place_of(const Elf64_Phdr *phdrs, u32 count, u64 ea)
{
	for (u32 i = 0; i < count; i++)
		if (phdrs[i].p_type == PT_LOAD && ea >= phdrs[i].p_vaddr && ea - phdrs[i].p_vaddr < phdrs[i].p_filesz)
			return ea - phdrs[i].p_vaddr + phdrs[i].p_offset;
	return 0;
}

static int compare_functions(const void *left, const void *right)
{
	const struct perfdata_function *a = left, *b = right;

	return (a->fo > b->fo) - (a->fo < b->fo);
}

static void read_functions(struct perfdata_local *local, const char *path)
{
	Elf64_Ehdr ehdr;
	Elf64_Shdr section;
	Elf64_Phdr phdrs[PHDRS_MAX];
	_cleanup_(closep) int fd = open_elf(path, &ehdr);
	_cleanup_(freep) Elf64_Sym *symbols = NULL;
	u64 count;

	if (fd < 0 || ehdr.e_phnum > PHDRS_MAX || !find_symtab(fd, &ehdr, &section) ||
	    !read_at(fd, ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof(phdrs[0])))
		return;
	count = section.sh_size / sizeof(*symbols);
	if (!count || count > PERFDATA_LOCAL_SYMBOLS_MAX)
		return;
	symbols = calloc(count, sizeof(*symbols));
	local->functions = calloc(count, sizeof(*local->functions));
	if (!symbols || !local->functions || !read_at(fd, section.sh_offset, symbols, count * sizeof(*symbols)))
		return;
	for (u64 i = 0; i < count; i++) {
		u64 fo = ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_size
				? place_of(phdrs, ehdr.e_phnum, symbols[i].st_value) : 0;

		if (fo)
			local->functions[local->function_count++] =
				(struct perfdata_function){ fo, symbols[i].st_size };
	}
	qsort(local->functions, local->function_count, sizeof(*local->functions), compare_functions);
}

u64 perfdata_local_function(struct perfdata_local *local, const char *path, u64 fo)
{
	u32 low = 0, high;

	if (!local->is_read)
		read_functions(local, path);
	local->is_read = true;
	/* The first that begins past it. */
	for (high = local->function_count; low < high;) {
		u32 middle = low + (high - low) / 2;

		if (local->functions[middle].fo <= fo)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || fo - local->functions[low - 1].fo >= local->functions[low - 1].bytes)
		return 0;
	return local->functions[low - 1].fo;
}
