// SPDX-License-Identifier: Apache-2.0
#include "exe/symbols_build.h"

#include <errno.h>

#include <lzma.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/symbols.h"
#include "forge.h"
#include "forge_symbols.h"

#define TEXT 0x1000
#define TEXT_BYTES 0x1000

static void forge_text(struct forge *f)
{
	static const char code[TEXT_BYTES];

	forge_init(f, EM_X86_64);
	forge_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
}

/* .eh_frame at 0x3000 with one CIE (addresses relative to pc, 4 bytes) and an FDE for each range. */
static void forge_frames(struct forge *f, const u32 (*range)[2], u32 count)
{
	static const u8 cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,
				  0x1b, 12, 7, 8, 0x90, 1, 0, 0 };
	u32 section[64] = { 0 }, at = sizeof(cie) / 4;

	memcpy(section, cie, sizeof(cie));
	for (u32 i = 0; i < count; i++, at += 5) {
		section[at] = 16;
		section[at + 1] = at * 4 + 4;
		section[at + 2] = range[i][0] - (0x3000 + (at + 2) * 4);
		section[at + 3] = range[i][1];
	}
	forge_section(f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x3000, section, (at + 1) * 4);
}

static struct symbols *build(const struct forge *f, const u64 *ea, u32 count)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct symbols *symbols = NULL;

	EQ(exe_open_mem(f->b.data, f->b.len, &exe), 0);
	EQ(symbols_build(exe, NULL, ea, count, &symbols), 0);
	EQ(symbols_check(symbols, symbols->bytes), 0);
	return symbols;
}

/* "name start" of the function at an address, "" where there is none. */
static const char *at(const struct forge *f, u64 ea)
{
	_cleanup_(freep) struct symbols *symbols = build(f, &ea, 1);
	const struct symbol *symbol = symbols_find(symbols, ea);
	static char text[256];

	text[0] = 0;
	if (symbol)
		snprintf(text, sizeof(text), "%s %llx", symbols_name(symbols, symbol), symbol->ea);
	return text;
}

TEST(symbols_build_names_an_address_only_inside_of_a_symbol)
{
	static const struct sym syms[] = {
		{ "first", 0x1100, 0x80, STT_FUNC, STB_GLOBAL },
		{ "second", 0x1200, 0x10, STT_FUNC, STB_LOCAL },
		{ "data", 0x1300, 0x10, STT_OBJECT, STB_GLOBAL },
		{ "elsewhere", 0x9000, 0x10, STT_FUNC, STB_GLOBAL },
	};
	struct forge f;

	forge_text(&f);
	forge_symbols(&f, ".symtab", SHT_SYMTAB, syms, 4);
	forge_finish(&f);
	STREQ(at(&f, 0x10ff), "");
	STREQ(at(&f, 0x1100), "first 1100");
	STREQ(at(&f, 0x117f), "first 1100");
	STREQ(at(&f, 0x1180), "");
	STREQ(at(&f, 0x120f), "second 1200");
	STREQ(at(&f, 0x1308), "");
	STREQ(at(&f, 0x9008), "");
	forge_done(&f);
}

TEST(symbols_build_answers_for_many_addresses_at_once)
{
	static const struct sym syms[] = {
		{ "outer", 0x1100, 0x100, STT_FUNC, STB_GLOBAL },
		{ "inner", 0x1140, 0x10, STT_FUNC, STB_GLOBAL },
		{ "last", 0x1200, 0x10, STT_FUNC, STB_GLOBAL },
	};
	static const u64 ea[] = { 0x1205, 0x1145, 0x1199, 0x1100, 0x1145, 0x1000 };
	_cleanup_(freep) struct symbols *symbols = NULL;
	struct forge f;

	forge_text(&f);
	forge_symbols(&f, ".symtab", SHT_SYMTAB, syms, 3);
	forge_finish(&f);
	symbols = build(&f, ea, 6);
	EQ(symbols->count, 3);
	EQ(symbols_find(symbols, 0x1199)->ea, 0x1100);
	EQ(symbols_find(symbols, 0x1145)->ea, 0x1140);
	EQ(symbols_find(symbols, 0x1205)->ea, 0x1200);
	forge_done(&f);
}

TEST(symbols_build_chooses_among_aliases)
{
	static const struct sym syms[] = {
		{ "local", 0x1100, 0x10, STT_FUNC, STB_LOCAL },	   { "weak", 0x1100, 0x10, STT_FUNC, STB_WEAK },
		{ "__global", 0x1100, 0x10, STT_FUNC, STB_GLOBAL }, { "_longer", 0x1200, 0x10, STT_FUNC, STB_GLOBAL },
		{ "longest", 0x1200, 0x10, STT_FUNC, STB_GLOBAL }, { "short", 0x1200, 0x10, STT_FUNC, STB_GLOBAL },
		{ "label", 0x1300, 0, STT_NOTYPE, STB_GLOBAL },	   { "local2", 0x1300, 0x10, STT_FUNC, STB_LOCAL },
	};
	struct forge f;

	forge_text(&f);
	forge_symbols(&f, ".symtab", SHT_SYMTAB, syms, 8);
	forge_finish(&f);
	STREQ(at(&f, 0x1101), "__global 1100");
	STREQ(at(&f, 0x1201), "short 1200");
	STREQ(at(&f, 0x1301), "local2 1300");
	forge_done(&f);
}

TEST(symbols_build_gives_symbols_without_size_what_their_frame_says)
{
	static const struct sym syms[] = {
		{ "sized", 0x1100, 0x10, STT_FUNC, STB_GLOBAL },    { "unsized", 0x1200, 0, STT_FUNC, STB_GLOBAL },
		{ "unframed", 0x1400, 0, STT_NOTYPE, STB_GLOBAL },  { "next", 0x1440, 0, STT_NOTYPE, STB_GLOBAL },
		{ "$x", 0x1410, 0, STT_NOTYPE, STB_LOCAL },
	};
	static const u32 frames[][2] = { { 0x1100, 0x40 }, { 0x1200, 0x40 }, { 0x1280, 0x20 }, { 0x1500, 0x10 } };
	struct forge f;

	forge_text(&f);
	forge_symbols(&f, ".symtab", SHT_SYMTAB, syms, 5);
	forge_frames(&f, frames, 4);
	forge_finish(&f);
	STREQ(at(&f, 0x1130), "sized 1100"); /* shorter than its FDE */
	STREQ(at(&f, 0x1140), "");
	STREQ(at(&f, 0x123f), "unsized 1200");
	STREQ(at(&f, 0x1240), ""); /* its FDE has ended */
	STREQ(at(&f, 0x1290), " 1280");
	STREQ(at(&f, 0x12a0), "");
	STREQ(at(&f, 0x1420), "unframed 1400"); /* up to the next */
	STREQ(at(&f, 0x1450), "next 1440");
	STREQ(at(&f, 0x1505), " 1500"); /* not the label before it */
	STREQ(at(&f, 0x1515), "");
	forge_done(&f);
}

TEST(symbols_build_reads_minidebuginfo)
{
	static const struct sym dynamic[] = { { "exported", 0x1100, 0x10, STT_FUNC, STB_GLOBAL } };
	static const struct sym hidden[] = { { "hidden", 0x1200, 0x10, STT_FUNC, STB_LOCAL } };
	struct forge f, mini;
	u8 packed[8192];
	size_t bytes = 0;

	forge_init(&mini, EM_X86_64);
	forge_symbols(&mini, ".symtab", SHT_SYMTAB, hidden, 1);
	forge_finish(&mini);
	EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, (const u8 *)mini.b.data, mini.b.len, packed, &bytes,
				   sizeof(packed)), LZMA_OK);
	forge_text(&f);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, dynamic, 1);
	forge_section(&f, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, bytes);
	forge_finish(&f);
	STREQ(at(&f, 0x1108), "exported 1100");
	STREQ(at(&f, 0x1208), "hidden 1200");
	/* Cut short it is as if it was not there. */
	f.b.data[f.shdr[4].sh_offset + bytes / 2] ^= 0x55;
	STREQ(at(&f, 0x1208), "");
	forge_done(&f);
	forge_done(&mini);
}

TEST(symbols_build_names_plt_entries)
{
	/* endbr64; jmp *0x2ff6(%rip): from 0x100a to 0x4000 */
	static const u8 code[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf6, 0x2f, 0, 0 };
	static const u32 arm64_code[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0xb0000010, 0xf9400211, 0x91000210, 0xd61f0220 };
	static const struct sym dynamic[] = { { "far", 0, 0, STT_FUNC, STB_GLOBAL } };
	static const Elf64_Rela rela = { .r_offset = 0x4000, .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT) };
	static const Elf64_Rela arm64_rela = { .r_offset = 0x2000, .r_info = ELF64_R_INFO(1, R_AARCH64_JUMP_SLOT) };
	struct forge f;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, dynamic, 1);
	forge_section(&f, ".rela.plt", SHT_RELA, 0, 0, &rela, sizeof(rela));
	forge_finish(&f);
	STREQ(at(&f, 0x1004), "far@plt 1000");
	forge_done(&f);

	forge_init(&f, EM_AARCH64);
	forge_section(&f, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, arm64_code, sizeof(arm64_code));
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, dynamic, 1);
	forge_section(&f, ".rela.plt", SHT_RELA, 0, 0, &arm64_rela, sizeof(arm64_rela));
	forge_finish(&f);
	STREQ(at(&f, 0x1028), "far@plt 1020");
	STREQ(at(&f, 0x1008), "");
	forge_done(&f);
}

TEST(symbols_build_survives_each_failed_allocation)
{
	static const struct sym syms[] = { { "f", 0x1100, 0x80, STT_FUNC, STB_GLOBAL } };
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct symbols *symbols = NULL;
	u64 ea = 0x1101;
	struct forge f;
	int r = -ENOMEM;

	forge_text(&f);
	forge_symbols(&f, ".symtab", SHT_SYMTAB, syms, 1);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	for (long n = 0; r == -ENOMEM && n < 100; n++) {
		test_alloc_fail(n);
		r = symbols_build(exe, NULL, &ea, 1, &symbols);
		test_alloc_reset();
	}
	EQ(r, 0);
	STREQ(symbols_name(symbols, symbols_find(symbols, ea)), "f");
	free(symbols);
	forge_done(&f);
}

/* As glibc's crt1 begins a program; main() is at TEXT + 0x100. */
static void forge_start(struct forge *f, u8 first_byte)
{
	static const u8 start[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xf0,
		0x50, 0x54, 0x45, 0x31, 0xc0, 0x31, 0xc9,
		0x48, 0x8d, 0x3d, 0xe1, 0, 0, 0,	/* lea TEXT+0x100(%rip),%rdi */
		0xff, 0x15, 0, 0x20, 0, 0, 0xf4,	/* call *__libc_start_main; hlt */
	};
	static u8 code[TEXT_BYTES];

	memset(code, 0x90, sizeof(code));
	memcpy(code, start, sizeof(start));
	code[4] = first_byte;
	code[0x100] = 0x53;	/* push %rbx */
	forge_init(f, EM_X86_64);
	f->ehdr.e_type = ET_EXEC;
	f->ehdr.e_entry = TEXT;
	forge_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
}

TEST(symbols_of_a_stripped_program_are_its_start_and_main)
{
	static const u32 frames[][2] = { { TEXT + 0x100, 0x80 }, { TEXT + 0x180, 0x40 } };
	_cleanup_(forge_done) struct forge f, bare, other;

	forge_start(&f, 0x31);
	forge_frames(&f, frames, 2);
	forge_finish(&f);
	STREQ(at(&f, TEXT + 0x10), "_start 1000");
	STREQ(at(&f, TEXT + 0x30), "");
	STREQ(at(&f, TEXT + 0x100), "main 1100");
	STREQ(at(&f, TEXT + 0x17f), "main 1100");
	STREQ(at(&f, TEXT + 0x180), " 1180");

	/* No FDE says where main() ends. */
	forge_start(&bare, 0x31);
	forge_finish(&bare);
	STREQ(at(&bare, TEXT + 0x10), "_start 1000");
	STREQ(at(&bare, TEXT + 0x140), "main 1100");

	/* Another library's start may give anything to anybody. */
	forge_start(&other, 0x33);
	forge_frames(&other, frames, 2);
	forge_finish(&other);
	STREQ(at(&other, TEXT + 0x100), " 1100");
}

TEST(symbols_of_code_without_anything_are_where_its_functions_begin)
{
	static u8 code[TEXT_BYTES];
	_cleanup_(forge_done) struct forge f;

	memset(code, 0x90, sizeof(code));
	memcpy(code + 0x100, "\x53\xe8\x3a\x01\0\0\x5b\xc3", 8);	/* push %rbx; call 0x240; pop %rbx; ret */
	memcpy(code + 0x120, "\x31\xc0\xc3", 3);			/* aligned behind padding */
	memcpy(code + 0x240, "\x31\xc0\x75\x0c\xc3", 5);		/* jne 0x250 */
	memcpy(code + 0x250, "\xff\xc0\xc3", 3);			/* jumped to */
	memcpy(code + 0x300, "\x55\x48\x89\xe5\x5d\xc3", 6);
	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
	forge_finish(&f);
	STREQ(at(&f, TEXT + 0x121), " 1120");
	STREQ(at(&f, TEXT + 0x242), " 1240");
	STREQ(at(&f, TEXT + 0x251), " 1240");
	STREQ(at(&f, TEXT + 0x304), " 1300");
	STREQ(at(&f, TEXT + 0x10), "");		/* nobody knows where that began */
}
