// SPDX-License-Identifier: Apache-2.0
#include "exe/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <zlib.h>
#include <zstd.h>

#include "forge.h"
#include "test.h"

static struct exe *open_forge(struct forge *f)
{
	struct exe *exe;

	forge_finish(f);
	EQ(exe_open_mem(f->b.data, f->b.len, &exe), 0);
	return exe;
}

TEST(elf_finds_sections_by_name_and_type)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct exe_section s;
	struct exe_data data;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "code", 4);
	forge_section(&f, ".note", SHT_NOTE, 0, 0, "", 1);
	exe = open_forge(&f);
	EQ(exe->machine, EM_X86_64);
	OK(exe_section_named(exe, ".text", &s));
	EQ(s.ea, 0x1000);
	EQ(exe_section_data(exe, &s, 0, &data), 0);
	EQ(data.bytes, 4);
	OK(!memcmp(data.at, "code", 4));
	exe_data_done(&data);
	OK(exe_section_typed(exe, SHT_NOTE, &s));
	STREQ(s.name, ".note");
	OK(!exe_section_named(exe, ".bss", &s));
	OK(!exe_section_typed(exe, SHT_DYNSYM, &s));
}

TEST(elf_translates_addresses_by_loads)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "code", 4);
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC, 0x2000, "data", 4);
	exe = open_forge(&f);
	OK(!memcmp(exe_bytes_at(exe, 0x1001, 3), "ode", 3));
	OK(!exe_bytes_at(exe, 0x1001, 4));
	OK(!exe_bytes_at(exe, 0xfff, 1));
	OK(!exe_bytes_at(exe, 0x1001, UINT64_MAX));
	OK(exe_executable(exe, 0x1003));
	OK(!exe_executable(exe, 0x1004));
	OK(!exe_executable(exe, 0x2000));
}

TEST(elf_refuses_what_is_not_elf)
{
	struct exe *exe;
	char big_endian[64] = "\177ELF\2\2\1";

	EQ(exe_open_mem("", 0, &exe), -ENOEXEC);
	EQ(exe_open_mem("#!/bin/sh\n.......................", 32, &exe), -ENOEXEC);
	EQ(exe_open_mem("\177ELF\2\1\1", 7, &exe), -ENOEXEC);
	EQ(exe_open_mem("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16, &exe), -ENOEXEC);
	EQ(exe_open_mem(big_endian, sizeof(big_endian), &exe), -ENOEXEC);
}

TEST(elf_refuses_to_map_what_is_not_a_regular_file)
{
	struct exe *exe;
	int fds[2];

	EQ(pipe(fds), 0);
	EQ(exe_map(fds[0], NULL, &exe), -ENOEXEC);
	EQ(exe_map(open("/dev/zero", O_RDONLY), NULL, &exe), -ENOEXEC);
	EQ(exe_map(open("/", O_RDONLY), NULL, &exe), -ENOEXEC);
	EQ(exe_map(-1, NULL, &exe), -EBADF);
}

TEST(elf_maps_its_own_program)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct exe_section s;

	EQ(exe_map(fd, NULL, &exe), 0);
	EQ(exe->elf_class, ELFCLASS64);
	OK(exe_section_named(exe, ".text", &s));
	OK(exe_executable(exe, s.ea));
	OK(exe_bytes_at(exe, s.ea, 16) == exe_bytes(exe, s.fo, 16));
}

TEST(elf_counts_65536_sections_by_section_zero)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	Elf64_Shdr more = { .sh_type = SHT_PROGBITS, .sh_name = 1 };
	Elf64_Ehdr *ehdr;
	Elf64_Shdr *zero;
	struct exe_section s;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".x", SHT_NOTE, 0, 0, "", 1);
	forge_finish(&f);
	for (u32 i = f.ehdr.e_shnum; i < 65600; i++)
		buf_add(&f.b, &more, sizeof(more));
	ehdr = (void *)f.b.data;
	zero = (void *)(f.b.data + ehdr->e_shoff);
	zero->sh_size = 65600;
	zero->sh_link = ehdr->e_shstrndx;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = SHN_XINDEX;
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(exe->section_count, 65600);
	OK(exe_section(exe, 65599, &s));
	STREQ(s.name, ".x");
	EQ(s.type, SHT_PROGBITS);
	OK(!exe_section(exe, 65600, &s));
}

TEST(elf_believes_no_count_or_offset)
{
	static const struct { u64 offset, value, bytes; } lie[] = {
		{ offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 8, 8 },
		{ offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8, 8 },
		{ offsetof(Elf64_Ehdr, e_shoff), 1, 8 },
		{ offsetof(Elf64_Ehdr, e_shnum), 0xffff, 2 },
		{ offsetof(Elf64_Ehdr, e_phnum), 0xffff, 2 },
		{ offsetof(Elf64_Ehdr, e_shentsize), 1, 2 },
		{ offsetof(Elf64_Ehdr, e_phentsize), 0, 2 },
		{ offsetof(Elf64_Ehdr, e_shstrndx), 0xfff0, 2 },
	};

	for (size_t i = 0; i < sizeof(lie) / sizeof(*lie); i++) {
		_cleanup_(forge_done) struct forge f;
		_cleanup_(exe_freep) struct exe *exe = NULL;
		struct exe_section s;
		struct exe_phdr p;

		forge_init(&f, EM_X86_64);
		forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC, 0x1000, "code", 4);
		forge_finish(&f);
		memcpy(f.b.data + lie[i].offset, &lie[i].value, lie[i].bytes);
		EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
		for (u32 n = 0; exe_section(exe, n, &s); n++)
			OK(strlen(s.name) < 256);
		for (u32 n = 0; exe_phdr(exe, n, &p); n++)
			OK(n < 65536);
	}
}

/* A section that holds "hello" 1000 times, compressed. */
static void forge_compressed(struct forge *f, u32 type, u64 claimed_bytes)
{
	static char plain[5000];
	struct { Elf64_Chdr h; char data[5000]; } packed = { .h = { .ch_type = type, .ch_size = claimed_bytes } };
	uLongf len = sizeof(packed.data);

	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = "hello"[i % 5];
	if (type == ELFCOMPRESS_ZLIB)
		EQ(compress((Bytef *)packed.data, &len, (Bytef *)plain, sizeof(plain)), Z_OK);
	else
		len = ZSTD_compress(packed.data, len, plain, sizeof(plain), 3);
	forge_init(f, EM_X86_64);
	forge_section(f, ".z", SHT_PROGBITS, SHF_COMPRESSED, 0, &packed, sizeof(packed.h) + len);
}

TEST(elf_decompresses_sections)
{
	for (u32 type = 1; type <= 2; type++) {
		_cleanup_(forge_done) struct forge f;
		_cleanup_(exe_freep) struct exe *exe = NULL;
		_cleanup_(exe_data_done) struct exe_data data = { 0 };
		struct exe_section s;

		forge_compressed(&f, type, 5000);
		exe = open_forge(&f);
		OK(exe_section_named(exe, ".z", &s));
		EQ(exe_section_data(exe, &s, 4999, &data), -E2BIG);
		EQ(exe_section_data(exe, &s, 5000, &data), 0);
		EQ(data.bytes, 5000);
		OK(!memcmp(data.at + 4990, "hellohello", 10));
	}
}

TEST(elf_refuses_compressed_sections_that_lie)
{
	static const struct { u32 type, claimed_bytes; int want; } lie[] = {
		{ 1, 4999, -EBADMSG }, { 1, 5001, -EBADMSG }, { 2, 4999, -EBADMSG }, { 2, 5001, -EBADMSG },
		{ 3, 5000, -ENOTSUP },
	};

	for (size_t i = 0; i < sizeof(lie) / sizeof(*lie); i++) {
		_cleanup_(forge_done) struct forge f;
		_cleanup_(exe_freep) struct exe *exe = NULL;
		struct exe_section s;
		struct exe_data data;

		forge_compressed(&f, lie[i].type, lie[i].claimed_bytes);
		exe = open_forge(&f);
		OK(exe_section_named(exe, ".z", &s));
		EQ(exe_section_data(exe, &s, 1 << 20, &data), lie[i].want);
	}
}

TEST(elf_walks_notes_and_stops_at_a_cut_one)
{
	static const u32 words[] = { 4, 5, 1, 0x554e47, 0x44434241, 0x45, 4, 100, 2, 0x554e47 };
	struct exe_notes notes;
	struct exe_note note;

	exe_notes_init(&notes, (const u8 *)words, sizeof(words), 4);
	OK(exe_notes_next(&notes, &note));
	OK(exe_note_is(&note, "GNU", 1));
	OK(!exe_note_is(&note, "GNU", 2));
	OK(!exe_note_is(&note, "GN", 1));
	EQ(note.desc_bytes, 5);
	OK(!memcmp(note.desc, "ABCDE", 5));
	OK(!exe_notes_next(&notes, &note));
}
