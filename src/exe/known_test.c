// SPDX-License-Identifier: Apache-2.0
#include "exe/known.h"

#include <errno.h>

#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "forge_cfi.h"
#include "forge_symbols.h"
#include "test.h"

#define TEXT 0x1000
#define EH_FRAME 0x8000

static const u8 x86_trampoline[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
static const u8 arm64_trampoline[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
static u8 text[0x1000];

static struct rows *compile_forge(struct forge *f)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows *rows = NULL;
	int r;

	forge_finish(f);
	EQ(exe_open_mem(f->b.data, f->b.len, &exe), 0);
	r = rows_compile(exe, NULL, &rows);
	OK(r == 0 || r == -ENODATA);
	return rows;
}

static void forge_text(struct forge *f, unsigned int machine)
{
	forge_init(f, machine);
	forge_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, sizeof(text));
}

/* Adds an .eh_frame with one function. */
static void forge_function(struct forge *f, const char *augmentation, u64 start, u64 bytes)
{
	struct forge_cfi c;

	forge_cfi_init(&c, EH_FRAME);
	c.machine = f->ehdr.e_machine;
	c.augmentation = augmentation;
	forge_usual_cie(&c);
	forge_fde(&c, start, bytes, BYTES(0));
	forge_section(f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, EH_FRAME, c.b.data, c.b.len);
	forge_cfi_done(&c);
}

static int kind_at(const struct rows *rows, u64 ea)
{
	const struct unwind_rule *rule = rows ? rows_find(rows, ea) : NULL;

	return rule ? rule->kind : RULE_NONE;
}

TEST(known_trampoline_with_fde_begins_one_byte_early)
{
	/* glibc's FDE begins before the code, others with it. */
	for (u64 start = TEXT + 0x0f; start <= TEXT + 0x10; start++) {
		_cleanup_(forge_done) struct forge f;
		struct rows *rows;

		memcpy(text + 0x10, x86_trampoline, sizeof(x86_trampoline));
		forge_text(&f, EM_X86_64);
		forge_function(&f, "zRS", start, TEXT + 0x19 - start);
		rows = compile_forge(&f);
		EQ(kind_at(rows, TEXT + 0x0e), RULE_NONE);
		EQ(kind_at(rows, TEXT + 0x0f), RULE_SIGNAL);
		EQ(kind_at(rows, TEXT + 0x18), RULE_SIGNAL);
		EQ(kind_at(rows, TEXT + 0x19), RULE_NONE);
		EQ(rows_find(rows, TEXT + 0x10)->cfa_off, 40);
		free(rows);
	}
}

TEST(known_trampoline_takes_its_byte_from_the_function_before)
{
	_cleanup_(forge_done) struct forge f;
	struct forge_cfi c;
	struct rows *rows;

	memcpy(text + 0x10, x86_trampoline, sizeof(x86_trampoline));
	forge_text(&f, EM_X86_64);
	forge_cfi_init(&c, EH_FRAME);
	forge_usual_cie(&c);
	forge_fde(&c, TEXT, 0x10, BYTES(0));
	c.augmentation = "zRS";
	forge_usual_cie(&c);
	forge_fde(&c, TEXT + 0x10, 9, BYTES(0));
	forge_section(&f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, EH_FRAME, c.b.data, c.b.len);
	rows = compile_forge(&f);
	EQ(kind_at(rows, TEXT + 0x0e), RULE_CFA);
	EQ(kind_at(rows, TEXT + 0x0f), RULE_SIGNAL);
	free(rows);
	forge_cfi_done(&c);
}

TEST(known_trampolines_are_found_where_nothing_has_an_fde)
{
	const struct {
		unsigned int machine;
		const u8 *code;
		size_t len;
		int off;
	} table[] = {
		{ EM_X86_64, x86_trampoline, sizeof(x86_trampoline), 40 },
		{ EM_X86_64, (const u8[]){ 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 }, 7, 40 },
		{ EM_AARCH64, arm64_trampoline, sizeof(arm64_trampoline), 312 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		_cleanup_(forge_done) struct forge f;
		struct rows *rows;

		memset(text, 0, sizeof(text));
		memcpy(text + 0x110, table[i].code, table[i].len);
		memcpy(text + 0xff0, table[i].code, table[i].len);
		forge_text(&f, table[i].machine);
		forge_function(&f, NULL, TEXT + 0x40, 0x40);
		rows = compile_forge(&f);
		EQ(kind_at(rows, TEXT + 0x40), RULE_CFA);
		EQ(kind_at(rows, TEXT + 0x10e), RULE_NONE);
		EQ(kind_at(rows, TEXT + 0x10f), RULE_SIGNAL);
		EQ(kind_at(rows, TEXT + 0x110 + table[i].len), RULE_NONE);
		EQ(kind_at(rows, TEXT + 0xff0), RULE_SIGNAL);
		EQ(rows_find(rows, TEXT + 0x110)->cfa_off, table[i].off);
		free(rows);
	}
}

TEST(known_first_function_of_a_greenlet_is_the_end)
{
	static const struct sym syms[] = {
		{ "_ZN8greenlet12UserGreenlet13g_initialstubEPv", TEXT + 0x80, 0x40, STT_FUNC, STB_GLOBAL },
		{ "_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object", TEXT + 0x40, 0x40, STT_FUNC,
		  STB_GLOBAL },
	};

	for (u64 start = TEXT + 0x30; start <= TEXT + 0x40; start += 0x10) {
		_cleanup_(forge_done) struct forge f;
		struct rows *rows;

		forge_text(&f, EM_X86_64);
		forge_function(&f, NULL, start, 0x50);
		forge_symbols(&f, ".dynsym", SHT_DYNSYM, syms, 2);
		rows = compile_forge(&f);
		EQ(kind_at(rows, TEXT + 0x41), start == TEXT + 0x40 ? RULE_END : RULE_CFA);
		free(rows);
	}
}

/* makecontext at 0x100, which takes the address of what is at 0x40: mov %rbx,%rsp behind an instruction or two. */
TEST(known_end_of_a_coroutine_is_the_end)
{
	static const struct sym makecontext = { "makecontext", TEXT + 0x100, 0x20, STT_FUNC, STB_GLOBAL };

	for (int is_context = 0; is_context < 2; is_context++) {
		_cleanup_(forge_done) struct forge f;
		struct forge_cfi c;
		struct rows *rows;
		s32 away = 0x40 - 0x10b;

		memset(text, 0x90, sizeof(text));
		memcpy(text + 0x44, "\x48\x89\xdc", is_context ? 3 : 0);
		memcpy(text + 0x104, "\x48\x8d\x3d", 3);
		memcpy(text + 0x107, &away, sizeof(away));
		forge_text(&f, EM_X86_64);
		forge_cfi_init(&c, EH_FRAME);
		forge_usual_cie(&c);
		forge_fde(&c, TEXT + 0x20, 0x20, BYTES(0));
		forge_fde(&c, TEXT + 0x40, 0x20, BYTES(0));
		forge_fde(&c, TEXT + 0x100, 0x20, BYTES(0));
		forge_section(&f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, EH_FRAME, c.b.data, c.b.len);
		forge_cfi_done(&c);
		forge_symbols(&f, ".dynsym", SHT_DYNSYM, &makecontext, 1);
		rows = compile_forge(&f);
		EQ(kind_at(rows, TEXT + 0x3e), RULE_CFA);
		EQ(kind_at(rows, TEXT + 0x3f), is_context ? RULE_NONE : RULE_CFA);
		EQ(kind_at(rows, TEXT + 0x40), is_context ? RULE_END : RULE_CFA);
		free(rows);
	}
}

TEST(known_start_of_a_thread_is_the_end_on_arm64)
{
	/* ldp x1, x0, [sp], #16; blr x1 */
	static const u8 start[] = { 0xe1, 0x03, 0xc1, 0xa8, 0x20, 0x00, 0x3f, 0xd6 };
	_cleanup_(forge_done) struct forge f;
	struct rows *rows;

	memset(text, 0, sizeof(text));
	memcpy(text + 0x110, start, sizeof(start));
	forge_text(&f, EM_AARCH64);
	forge_function(&f, NULL, TEXT + 0x40, 0x40);
	rows = compile_forge(&f);
	EQ(kind_at(rows, TEXT + 0x10f), RULE_NONE);
	EQ(kind_at(rows, TEXT + 0x117), RULE_END);
	EQ(kind_at(rows, TEXT + 0x118), RULE_NONE);
	free(rows);
}

TEST(known_entry_of_a_program_is_the_end)
{
	_cleanup_(forge_done) struct forge f;
	struct rows *rows;

	forge_text(&f, EM_X86_64);
	forge_function(&f, NULL, TEXT + 0x40, 0x40);
	f.ehdr.e_entry = TEXT + 0x40;
	f.ehdr.e_type = ET_EXEC;
	rows = compile_forge(&f);
	EQ(kind_at(rows, TEXT + 0x3f), RULE_NONE);
	EQ(kind_at(rows, TEXT + 0x40), RULE_END);
	EQ(kind_at(rows, TEXT + 0x7f), RULE_END);
	EQ(kind_at(rows, TEXT + 0x80), RULE_NONE);
	free(rows);
}

TEST(known_entry_of_a_library_is_a_function_like_others)
{
	_cleanup_(forge_done) struct forge f;
	struct rows *rows;

	forge_text(&f, EM_X86_64);
	forge_function(&f, NULL, TEXT, 0x40);
	f.ehdr.e_entry = TEXT;
	rows = compile_forge(&f);
	EQ(kind_at(rows, TEXT), RULE_CFA);
	free(rows);
}

TEST(known_entry_at_0_is_none)
{
	_cleanup_(forge_done) struct forge f;
	struct rows *rows;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".all", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, text, sizeof(text));
	forge_function(&f, NULL, TEXT - 0x40, 0x40);
	rows = compile_forge(&f);
	EQ(kind_at(rows, 0), RULE_NONE);
	EQ(kind_at(rows, TEXT - 0x40), RULE_CFA);
	free(rows);
}

TEST(known_entry_without_fde_ends_before_the_next_function)
{
	/* ld.so has no PT_INTERP; its entry has no FDE. */
	for (int library = 0; library <= 1; library++) {
		_cleanup_(forge_done) struct forge f;
		struct rows *rows;

		memset(text, 0x90, sizeof(text));
		forge_text(&f, EM_X86_64);
		forge_function(&f, NULL, TEXT + 0x60, 0x40);
		f.ehdr.e_entry = TEXT + 0x40;
		f.ehdr.e_type = library ? ET_DYN : ET_EXEC;
		rows = compile_forge(&f);
		EQ(kind_at(rows, TEXT + 0x3f), RULE_NONE);
		EQ(kind_at(rows, TEXT + 0x40), RULE_END);
		EQ(kind_at(rows, TEXT + 0x5f), RULE_END);
		EQ(kind_at(rows, TEXT + 0x60), RULE_CFA);
		EQ(kind_at(rows, TEXT + 0xa0), RULE_NONE);
		free(rows);
	}
}

TEST(known_entry_without_fde_ends_where_its_code_does)
{
	/* call TEXT + 0x50, as in musl; jmp *%r12, as in ld.so */
	static const struct { u8 code[5]; u64 end; } table[] = {
		{ { 0xe8, 0x0b, 0, 0, 0 }, TEXT + 0x50 },
		{ { 0x90, 0x41, 0xff, 0xe4, 0x90 }, TEXT + 0x44 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		_cleanup_(forge_done) struct forge f;
		struct rows *rows;

		memset(text, 0x90, sizeof(text));
		memcpy(text + 0x40, table[i].code, sizeof(table[i].code));
		forge_text(&f, EM_X86_64);
		f.ehdr.e_entry = TEXT + 0x40;
		f.ehdr.e_type = ET_EXEC;
		rows = compile_forge(&f);
		EQ(kind_at(rows, table[i].end - 1), RULE_END);
		OK(kind_at(rows, table[i].end) != RULE_END);
		free(rows);
	}
}

TEST(known_plt_without_fde)
{
	_cleanup_(forge_done) struct forge f, g;
	struct rows *rows;

	forge_text(&f, EM_X86_64);
	forge_section(&f, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x4000, text, 0x40);
	forge_section(&f, ".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x4040, text, 0x40);
	rows = compile_forge(&f);
	EQ(kind_at(rows, 0x4010), RULE_PLT);
	EQ(rows_find(rows, 0x4010)->cfa_add, 11);
	EQ(kind_at(rows, 0x4040), RULE_CFA);
	EQ(rows_find(rows, 0x4040)->cfa_off, 8);
	EQ(kind_at(rows, 0x4080), RULE_NONE);
	free(rows);

	forge_text(&g, EM_AARCH64);
	forge_section(&g, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x4000, text, 0x40);
	rows = compile_forge(&g);
	EQ(rows_find(rows, 0x4000)->saved, RA_IN_REG << 4);
	EQ(rows_find(rows, 0x4004)->cfa_off, 16);
	EQ(rows_find(rows, 0x4004)->saved, 0);
	EQ(rows_find(rows, 0x4020)->saved, RA_IN_REG << 4);
	free(rows);
}

TEST(known_go_text_keeps_frame_pointers)
{
	_cleanup_(forge_done) struct forge f;
	struct rows *rows;

	memset(text, 0, sizeof(text));
	memcpy(text + 0x110, x86_trampoline, sizeof(x86_trampoline));
	forge_text(&f, EM_X86_64);
	forge_section(&f, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x6000, "", 1);
	forge_function(&f, NULL, TEXT + 0x40, 0x40);	/* cgo */
	f.ehdr.e_entry = TEXT + 0x200;
	f.ehdr.e_type = ET_EXEC;
	rows = compile_forge(&f);
	EQ(kind_at(rows, TEXT), RULE_FRAME);
	EQ(kind_at(rows, TEXT + 0x40), RULE_CFA);
	EQ(kind_at(rows, TEXT + 0x80), RULE_FRAME);
	EQ(kind_at(rows, TEXT + 0x110), RULE_SIGNAL);
	EQ(kind_at(rows, TEXT + 0x200), RULE_FRAME);
	EQ(kind_at(rows, TEXT + 0xfff), RULE_FRAME);
	EQ(rows_find(rows, TEXT)->cfa_reg, 6);
	free(rows);
}

TEST(known_arm64_vdso_without_eh_frame)
{
	_cleanup_(forge_done) struct forge f;
	struct rows *rows;

	memset(text, 0, sizeof(text));
	memcpy(text + 0x110, arm64_trampoline, sizeof(arm64_trampoline));
	forge_text(&f, EM_AARCH64);
	forge_section(&f, ".dynstr", SHT_STRTAB, SHF_ALLOC, 0x6000, "\0__kernel_rt_sigreturn", 23);
	rows = compile_forge(&f);
	EQ(kind_at(rows, TEXT), RULE_CFA);
	EQ(rows_find(rows, TEXT)->ra_off, 30);
	EQ(rows_find(rows, TEXT)->saved, RA_IN_REG << 4);
	EQ(kind_at(rows, TEXT + 0x110), RULE_SIGNAL);
	free(rows);
}
