// SPDX-License-Identifier: Apache-2.0
#include "lang/luajit/luajit_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "forge.h"
#include "forge_cfi.h"
#include "forge_symbols.h"
#include "test.h"

#define TEXT 0x1000
#define TEXT_BYTES 0x6000
#define OTHER TEXT		/* as large, but no interpreter */
#define INTERPRETER (TEXT + 0x3000)
#define INTERPRETER_BYTES 0x2400
#define TABLE 3968		/* bytes from the global state to the table of instructions */

static u8 code[TEXT_BYTES];

static void put(u64 at, const void *bytes, size_t count)
{
	memcpy(code + at - TEXT, bytes, count);
}

/* An instruction with a displacement or a number in its last four bytes. */
static void put_x86(u64 at, u8 first, u8 second, u8 third, s32 number)
{
	put(at, (const u8[]){ first, second, third }, 3);
	put(at + 3, &number, 4);
}

static void put_code(u32 entries)
{
	static const u8 save[] = { 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28 },
			then[] = { 0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40, 88 };

	memset(code, 0x90, sizeof(code));
	for (u32 i = 0; i < entries; i++)
		put(INTERPRETER + 0x100 + 0x40ull * i, save, sizeof(save));
	put_x86(INTERPRETER + 0x400, 0x49, 0x81, 0xc6, TABLE);
	put_x86(INTERPRETER + 0x410, 0x49, 0x89, 0xae, 368 - TABLE);	/* the state that runs */
	put_x86(INTERPRETER + 0x420, 0x49, 0x89, 0xae, 64 - TABLE);
	put_x86(INTERPRETER + 0x430, 0x41, 0xc7, 0x86, 144 - TABLE);	/* nothing runs */
	put(INTERPRETER + 0x437, (const u8[]){ 0xff, 0xff, 0xff, 0xff }, 4);
	put_x86(INTERPRETER + 0x500, 0x49, 0x8b, 0x8e, 1648 - TABLE);	/* traces */
	put(INTERPRETER + 0x507, then, sizeof(then));
	put_x86(INTERPRETER + 0x520, 0x49, 0x89, 0x96, 376 - TABLE);	/* the base of a trace */
}

static void put_arm64(u64 at, u32 word)
{
	put(at, &word, 4);
}

static void put_code_arm64(void)
{
	memset(code, 0, sizeof(code));
	for (u32 i = 0; i < 4; i++) {
		put_arm64(INTERPRETER + 0x100 + 0x40ull * i, 0xd10343ff);
		put_arm64(INTERPRETER + 0x104 + 0x40ull * i, 0xa90c7bfd);
	}
	put_arm64(INTERPRETER + 0x400, 0xf9000000 | 368 / 8 << 10 | 22 << 5 | 23);
	put_arm64(INTERPRETER + 0x410, 0xf9000000 | 376 / 8 << 10 | 22 << 5 | 19);
	put_arm64(INTERPRETER + 0x420, 0xf9000000 | 24 / 8 << 10 | 22 << 5 | 19);
}

static const struct sym symbols[] = {
	{ "lua_newstate", TEXT + 0x10, 0x40, STT_FUNC, STB_GLOBAL },
	{ "luaJIT_setmode", TEXT + 0x80, 0x40, STT_FUNC, STB_GLOBAL },
	{ "luaJIT_profile_start", TEXT + 0xc0, 0x40, STT_FUNC, STB_GLOBAL },
};

static int recognise(u16 machine, u32 symbol_count, struct lang_file *ret_file, struct luajit_facts *ret_facts)
{
	_cleanup_(forge_cfi_done) struct forge_cfi c;
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	int r;

	forge_init(&f, machine);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
	forge_cfi_init(&c, 0x8000);
	forge_cie(&c, NULL, 0);
	forge_fde(&c, OTHER, 0x2800, NULL, 0);
	forge_fde(&c, INTERPRETER, INTERPRETER_BYTES, NULL, 0);
	forge_section(&f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x8000, c.b.data, c.b.len);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols, symbol_count);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	memset(ret_file, 0, sizeof(*ret_file));
	r = luajit_file_ops.recognise(exe, ret_file);
	memcpy(ret_facts, ret_file->facts, sizeof(*ret_facts));
	return r;
}

TEST(luajit_file_finds_the_interpreter_and_what_it_stores_where)
{
	struct lang_file file;
	struct luajit_facts facts;

	put_code(4);
	EQ(recognise(EM_X86_64, 3, &file, &facts), 0);
	EQ(facts.has_loop, 1);
	EQ(facts.running, 376);
	EQ(facts.number, 144);
	EQ(facts.traces, 1648);
	EQ(file.mark_count, 1);
	EQ(file.marks[0].start_ea, INTERPRETER);
	EQ(file.marks[0].end_ea, INTERPRETER + INTERPRETER_BYTES);
}

TEST(luajit_file_knows_the_interpreter_of_arm64)
{
	struct lang_file file;
	struct luajit_facts facts;

	put_code_arm64();
	EQ(recognise(EM_AARCH64, 3, &file, &facts), 0);
	EQ(facts.has_loop, 1);
	EQ(facts.running, 376);
	EQ(facts.traces, 0);
	EQ(file.marks[0].start_ea, INTERPRETER);
}

TEST(luajit_file_does_without_traces_that_it_does_not_know)
{
	struct lang_file file;
	struct luajit_facts facts;

	put_code(4);
	code[INTERPRETER + 0x507 + 7 - TEXT] = 80;	/* machine code is elsewhere in a trace */
	EQ(recognise(EM_X86_64, 3, &file, &facts), 0);
	EQ(facts.has_loop, 1);
	EQ(facts.running, 376);
	EQ(facts.traces, 0);
	EQ(facts.number, 0);
}

TEST(luajit_file_marks_nothing_in_what_it_does_not_know)
{
	struct lang_file file;
	struct luajit_facts facts;

	put_code(4);
	EQ(recognise(EM_X86_64, 2, &file, &facts), 0);	/* 2.0 */
	EQ(facts.has_loop, 0);
	EQ(file.mark_count, 0);
	put_code(3);
	EQ(recognise(EM_X86_64, 3, &file, &facts), 0);
	EQ(facts.has_loop, 0);
	/* Addresses of 32 bits: the table is added as such. */
	put_code(4);
	code[INTERPRETER + 0x400 - TEXT] = 0x41;
	EQ(recognise(EM_X86_64, 3, &file, &facts), 0);
	EQ(facts.has_loop, 0);
	EQ(file.mark_count, 0);
	/* The state that runs is not where it should be. */
	put_code(4);
	code[INTERPRETER + 0x410 - TEXT] = 0x90;
	EQ(recognise(EM_X86_64, 3, &file, &facts), 0);
	EQ(facts.has_loop, 0);
}

TEST(luajit_file_leaves_other_files_alone)
{
	struct lang_file file;
	struct luajit_facts facts;

	put_code(4);
	EQ(recognise(EM_X86_64, 1, &file, &facts), -ENODATA);
}
