// SPDX-License-Identifier: Apache-2.0
#include "exe/identify.h"

#include <errno.h>
#include <fcntl.h>

#include "exe/elf.h"
#include "exe/reader.h"
#include "forge.h"
#include "test.h"

static void identify(struct forge *f, struct exe_info *info)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_finish(f);
	EQ(exe_open_mem(f->b.data, f->b.len, &exe), 0);
	exe_identify(exe, info);
}

static const char build_id_note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU\0abcdefghijklmnopqrst";
static const char go_note[] = "\4\0\0\0\5\0\0\0\4\0\0\0Go\0\0go/id\0\0";

TEST(identify_reads_build_ids_from_program_headers_and_sections)
{
	for (unsigned long flags = 0; flags <= SHF_ALLOC; flags += SHF_ALLOC) {
		_cleanup_(forge_done) struct forge f;
		struct exe_info info;

		forge_init(&f, EM_AARCH64);
		forge_section(&f, ".note.gnu.build-id", SHT_NOTE, flags, 0x100, build_id_note, 36);
		forge_section(&f, ".note.go.buildid", SHT_NOTE, flags, 0x200, go_note, 24);
		identify(&f, &info);
		EQ(info.machine, EM_AARCH64);
		EQ(info.build_id_bytes, 20);
		OK(!memcmp(info.build_id, "abcdefghijklmnopqrst", 20));
		STREQ(info.go_build_id, "go/id");
	}
}

TEST(identify_reads_links)
{
	_cleanup_(forge_done) struct forge f;
	struct exe_info info;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".gnu_debuglink", SHT_PROGBITS, 0, 0, "a.debug\0\1\2\3\4", 12);
	forge_section(&f, ".gnu_debugaltlink", SHT_PROGBITS, 0, 0, "../dwz\0abcdefgh", 15);
	identify(&f, &info);
	STREQ(info.debuglink, "a.debug");
	EQ(info.debuglink_crc, 0x04030201);
	STREQ(info.altlink, "../dwz");
	EQ(info.altlink_id_bytes, 8);
	OK(!memcmp(info.altlink_id, "abcdefgh", 8));
}

TEST(identify_leaves_malformed_links_empty)
{
	_cleanup_(forge_done) struct forge f;
	struct exe_info info;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".gnu_debuglink", SHT_PROGBITS, 0, 0, "a.debug\0\1\2\3", 11);
	forge_section(&f, ".gnu_debugaltlink", SHT_PROGBITS, 0, 0, "../dwz", 6);
	identify(&f, &info);
	STREQ(info.debuglink, "");
	STREQ(info.altlink, "");
}

TEST(identify_lists_executable_segments_and_what_the_file_offers)
{
	_cleanup_(forge_done) struct forge f;
	struct exe_info info;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC, 0x1000, "data", 4);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, "code", 4);
	forge_section(&f, ".symtab", SHT_SYMTAB, 0, 0, "", 1);
	forge_section(&f, ".debug_info", SHT_NOBITS, 0, 0, "", 1);
	forge_section(&f, ".gnu_debugdata", SHT_PROGBITS, 0, 0, "", 1);
	identify(&f, &info);
	EQ(info.segment_count, 1);
	EQ(info.segment[0].ea, 0x2000);
	EQ(info.segment[0].bytes, 4);
	EQ(info.segment[0].file_offset, f.shdr[2].sh_offset);
	EQ(info.has_symtab, 1);
	EQ(info.has_debug_info, 0);
	EQ(info.has_gnu_debugdata, 1);
}

/* Digests by Python's hashlib, of sha256(head + tail + length). */
TEST(identify_hashes_head_tail_and_length)
{
	static const struct { size_t bytes; const char *want; } table[] = {
		{ 10000, "620840f227ce08287b1a9bf7f613fd85" },
		{ 100, "41d076b9a8eef9a82294d15ae595d3fc" },
	};
	static u8 file[10000] = "\177ELF\2\1\1";

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		_cleanup_(exe_freep) struct exe *exe = NULL;
		struct exe_info info;
		char hex[33];

		EQ(exe_open_mem(file, table[i].bytes, &exe), 0);
		exe_identify(exe, &info);
		for (int n = 0; n < 16; n++)
			snprintf(hex + 2 * n, 3, "%02x", info.htlhash[n]);
		STREQ(hex, table[i].want);
	}
}

TEST(identify_takes_bounded_time_where_many_headers_name_the_same_notes)
{
	enum { HEADERS = 60000, NOTES = 60000 };
	Elf64_Shdr note = { .sh_type = SHT_NOTE, .sh_size = NOTES * 12 };
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct exe_info info;

	forge_init(&f, EM_X86_64);
	note.sh_offset = f.b.len;
	for (int i = 0; i < NOTES; i++)
		buf_add(&f.b, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
	forge_finish(&f);
	for (int i = 0; i < HEADERS; i++)
		buf_add(&f.b, &note, sizeof(note));
	((Elf64_Ehdr *)f.b.data)->e_shnum = HEADERS;
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	exe_identify(exe, &info);	/* 3.6 billion notes unless bounded: the alarm would end the test */
	EQ(info.build_id_bytes, 0);
}
