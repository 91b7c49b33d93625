// SPDX-License-Identifier: Apache-2.0
#include "exe/elf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD /* glibc before 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

/* Longer names of sections are taken for none, so that no file makes us search long for their end. */
#define NAME_MAX_BYTES 256

const u8 *exe_bytes(const struct exe *exe, u64 fo, u64 bytes)
{
	if (fo > exe->bytes || bytes > exe->bytes - fo)
		return NULL;
	return exe->at + fo;
}

static bool read_at(const struct exe *exe, u64 fo, void *ret, size_t bytes)
{
	const u8 *at = exe_bytes(exe, fo, bytes);

	if (at)
		memcpy(ret, at, bytes);
	return at;
}

bool exe_phdr(const struct exe *exe, u32 index, struct exe_phdr *ret_phdr)
{
	u64 fo = exe->phdrs_fo + (u64)index * exe->phdr_bytes;
	Elf64_Phdr h64;
	Elf32_Phdr h32;

	if (index >= exe->phdr_count)
		return false;
	if (exe->elf_class == ELFCLASS32) {
		if (!read_at(exe, fo, &h32, sizeof(h32)))
			return false;
		*ret_phdr = (struct exe_phdr){ h32.p_type, h32.p_flags, h32.p_offset, h32.p_vaddr,
					       h32.p_filesz, h32.p_memsz, h32.p_align };
		return true;
	}
	if (!read_at(exe, fo, &h64, sizeof(h64)))
		return false;
	*ret_phdr = (struct exe_phdr){ h64.p_type, h64.p_flags, h64.p_offset, h64.p_vaddr,
				       h64.p_filesz, h64.p_memsz, h64.p_align };
	return true;
}

static bool read_section_header(const struct exe *exe, u64 fo, Elf64_Shdr *ret)
{
	Elf32_Shdr h;

	if (exe->elf_class != ELFCLASS32)
		return read_at(exe, fo, ret, sizeof(*ret));
	if (!read_at(exe, fo, &h, sizeof(h)))
		return false;
	*ret = (Elf64_Shdr){
		.sh_name = h.sh_name, .sh_type = h.sh_type, .sh_flags = h.sh_flags, .sh_addr = h.sh_addr,
		.sh_offset = h.sh_offset, .sh_size = h.sh_size, .sh_link = h.sh_link, .sh_info = h.sh_info,
		.sh_addralign = h.sh_addralign, .sh_entsize = h.sh_entsize,
	};
	return true;
}

/* A string of the section name table, "" unless it ends inside of it. */
static const char *section_name(const struct exe *exe, u32 offset)
{
	const char *name;
	u64 max;

	if (offset >= exe->names_bytes)
		return "";
	name = (const char *)exe->at + exe->names_fo + offset;
	max = exe->names_bytes - offset;
	return memchr(name, 0, max < NAME_MAX_BYTES ? max : NAME_MAX_BYTES) ? name : "";
}

bool exe_section(const struct exe *exe, u32 index, struct exe_section *ret_section)
{
	Elf64_Shdr h;

	if (index >= exe->section_count ||
	    !read_section_header(exe, exe->sections_fo + (u64)index * exe->section_bytes, &h))
		return false;
	*ret_section = (struct exe_section){
		.name = section_name(exe, h.sh_name), .index = index, .type = h.sh_type, .link = h.sh_link,
		.info = h.sh_info, .flags = h.sh_flags, .ea = h.sh_addr, .fo = h.sh_offset, .bytes = h.sh_size,
		.entry_bytes = h.sh_entsize,
	};
	return true;
}

bool exe_section_named(const struct exe *exe, const char *name, struct exe_section *ret_section)
{
	struct exe_section section;

	for (u32 i = 1; exe_section(exe, i, &section); i++) {
		if (strcmp(section.name, name))
			continue;
		*ret_section = section;
		return true;
	}
	return false;
}

bool exe_section_typed(const struct exe *exe, u32 type, struct exe_section *ret_section)
{
	struct exe_section section;

	for (u32 i = 1; exe_section(exe, i, &section); i++) {
		if (section.type != type)
			continue;
		*ret_section = section;
		return true;
	}
	return false;
}

/* Where the headers are; section 0 holds the counts that do not fit into 16 bits. */
static void find_headers(struct exe *exe, const Elf64_Ehdr *h)
{
	u32 names = h->e_shstrndx;
	struct exe_section s;
	Elf64_Shdr zero;

	exe->phdrs_fo = h->e_phoff;
	exe->phdr_count = h->e_phnum;
	exe->sections_fo = h->e_shoff;
	exe->section_count = h->e_shnum;
	if (exe->section_bytes && h->e_shoff && read_section_header(exe, h->e_shoff, &zero)) {
		if (!h->e_shnum)
			exe->section_count = zero.sh_size < EXE_SECTIONS_MAX ? zero.sh_size : EXE_SECTIONS_MAX;
		if (h->e_phnum == PN_XNUM)
			exe->phdr_count = zero.sh_info < EXE_SECTIONS_MAX ? zero.sh_info : EXE_SECTIONS_MAX;
		if (names == SHN_XINDEX)
			names = zero.sh_link;
	} else {
		exe->section_count = 0;
	}
	if (!h->e_phoff || !exe->phdr_bytes)
		exe->phdr_count = 0;
	if (exe_section(exe, names, &s) && s.type == SHT_STRTAB && exe_bytes(exe, s.fo, s.bytes)) {
		exe->names_fo = s.fo;
		exe->names_bytes = s.bytes;
	}
}

static void find_loads(struct exe *exe)
{
	struct exe_phdr phdr;

	for (u32 i = 0; exe->load_count < EXE_LOADS_MAX && exe_phdr(exe, i, &phdr); i++)
		if (phdr.type == PT_LOAD)
			exe->load[exe->load_count++] = phdr;
}

static bool read_file_header(const struct exe *exe, Elf64_Ehdr *ret)
{
	Elf32_Ehdr h;

	if (exe->elf_class != ELFCLASS32)
		return read_at(exe, 0, ret, sizeof(*ret));
	if (!read_at(exe, 0, &h, sizeof(h)))
		return false;
	*ret = (Elf64_Ehdr){
		.e_type = h.e_type, .e_machine = h.e_machine, .e_entry = h.e_entry, .e_phoff = h.e_phoff,
		.e_shoff = h.e_shoff, .e_phentsize = h.e_phentsize, .e_phnum = h.e_phnum,
		.e_shentsize = h.e_shentsize, .e_shnum = h.e_shnum, .e_shstrndx = h.e_shstrndx,
	};
	return true;
}

static int exe_parse(struct exe *exe)
{
	bool is32;
	Elf64_Ehdr h;

	if (exe->bytes < EI_NIDENT || memcmp(exe->at, ELFMAG, SELFMAG) || exe->at[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	exe->elf_class = exe->at[EI_CLASS];
	is32 = exe->elf_class == ELFCLASS32;
	if ((!is32 && exe->elf_class != ELFCLASS64) || !read_file_header(exe, &h))
		return -ENOEXEC;
	exe->type = h.e_type;
	exe->machine = h.e_machine;
	exe->entry_ea = h.e_entry;
	/* A header size other than the usual one is foreign: then there are no headers for us. */
	if (h.e_phentsize == (is32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr)))
		exe->phdr_bytes = h.e_phentsize;
	if (h.e_shentsize == (is32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr)))
		exe->section_bytes = h.e_shentsize;
	find_headers(exe, &h);
	find_loads(exe);
	return 0;
}

int exe_open_mem(const void *at, size_t bytes, struct exe **ret_exe)
{
	_cleanup_(exe_freep) struct exe *exe = calloc(1, sizeof(*exe));
	int r;

	if (!exe)
		return -ENOMEM;
	exe->at = at;
	exe->bytes = bytes;
	r = exe_parse(exe);
	if (r < 0)
		return r;
	*ret_exe = TAKE(exe);
	return 0;
}

int exe_map(int fd, const struct lang_file_ops *const *langs, struct exe **ret_exe)
{
	struct stat st;
	void *at;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < EI_NIDENT)
		return -ENOEXEC;
	at = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	r = exe_open_mem(at, st.st_size, ret_exe);
	if (r < 0) {
		munmap(at, st.st_size);
		return r;
	}
	(*ret_exe)->mapped = true;
	(*ret_exe)->langs = langs;
	return 0;
}

void exe_forget(const struct exe *exe)
{
	if (exe->mapped)
		(void)madvise((void *)exe->at, exe->bytes, MADV_DONTNEED);
}

void exe_free(struct exe *exe)
{
	if (!exe)
		return;
	if (exe->mapped)
		munmap((void *)exe->at, exe->bytes);
	free(exe);
}

static int inflate_to(u32 type, void *to, size_t to_bytes, const void *from, size_t from_bytes)
{
	if (type == ELFCOMPRESS_ZLIB) {
		uLongf got = to_bytes;

		return uncompress(to, &got, from, from_bytes) == Z_OK && got == to_bytes ? 0 : -EBADMSG;
	}
	if (type == ELFCOMPRESS_ZSTD)
		return ZSTD_decompress(to, to_bytes, from, from_bytes) == to_bytes ? 0 : -EBADMSG;
	return -ENOTSUP;
}

static int read_compressed(const struct exe *exe, const u8 *at, size_t bytes, size_t max_bytes,
			   struct exe_data *ret_data)
{
	bool is32 = exe->elf_class == ELFCLASS32;
	size_t header = is32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	Elf64_Chdr h = { 0 };
	Elf32_Chdr h32;
	void *to;
	int r;

	if (bytes < header)
		return -EBADMSG;
	if (is32) {
		memcpy(&h32, at, sizeof(h32));
		h.ch_type = h32.ch_type;
		h.ch_size = h32.ch_size;
	} else {
		memcpy(&h, at, sizeof(h));
	}
	if (h.ch_size > max_bytes)
		return -E2BIG;
	to = malloc(h.ch_size ? h.ch_size : 1);
	if (!to)
		return -ENOMEM;
	r = inflate_to(h.ch_type, to, h.ch_size, at + header, bytes - header);
	if (r < 0) {
		free(to);
		return r;
	}
	*ret_data = (struct exe_data){ to, h.ch_size, to };
	return 0;
}

int exe_section_data(const struct exe *exe, const struct exe_section *section, size_t max_bytes,
		     struct exe_data *ret_data)
{
	const u8 *at;

	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return -ENODATA;
	at = exe_bytes(exe, section->fo, section->bytes);
	if (!at)
		return -EBADMSG;
	if (section->flags & SHF_COMPRESSED)
		return read_compressed(exe, at, section->bytes, max_bytes, ret_data);
	*ret_data = (struct exe_data){ at, section->bytes, NULL };
	return 0;
}

void exe_data_done(struct exe_data *data)
{
	free(data->owned);
	*data = (struct exe_data){ 0 };
}

const u8 *exe_bytes_at(const struct exe *exe, u64 ea, u64 bytes)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *p = &exe->load[i];

		if (ea >= p->ea && ea - p->ea < p->file_bytes && bytes <= p->file_bytes - (ea - p->ea))
			return p->fo <= exe->bytes ? exe_bytes(exe, p->fo + (ea - p->ea), bytes) : NULL;
	}
	return NULL;
}

bool exe_executable(const struct exe *exe, u64 ea)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *p = &exe->load[i];

		if (p->flags & PF_X && ea >= p->ea && ea - p->ea < p->mem_bytes)
			return true;
	}
	return false;
}

void exe_notes_init(struct exe_notes *notes, const u8 *at, size_t bytes, u64 align)
{
	*notes = (struct exe_notes){ at, at ? bytes : 0, align == 8 ? 8 : 4 };
}

/* Takes bytes and the padding after them, counted from the start of the note. */
static const u8 *notes_take(struct exe_notes *notes, size_t bytes)
{
	const u8 *at = notes->at;
	size_t padded = (bytes + notes->align - 1) & ~(size_t)(notes->align - 1);

	if (bytes > notes->bytes)
		return NULL;
	if (padded > notes->bytes)
		padded = notes->bytes;
	notes->at += padded;
	notes->bytes -= padded;
	return at;
}

bool exe_notes_next(struct exe_notes *notes, struct exe_note *ret_note)
{
	Elf64_Nhdr h;
	const u8 *name, *desc;

	if (notes->bytes < sizeof(h))
		return false;
	memcpy(&h, notes->at, sizeof(h));
	/* The name follows the header at once: it is the pair that is padded. */
	name = notes->at + sizeof(h);
	if (!notes_take(notes, sizeof(h) + (size_t)h.n_namesz))
		return false;
	desc = notes_take(notes, h.n_descsz);
	if (!desc)
		return false;
	*ret_note = (struct exe_note){ h.n_type, (const char *)name, h.n_namesz, desc, h.n_descsz };
	return true;
}

bool exe_note_is(const struct exe_note *note, const char *name, u32 type)
{
	size_t len = strlen(name) + 1;

	return note->type == type && note->name_bytes == len && !memcmp(note->name, name, len);
}
