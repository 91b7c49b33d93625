// SPDX-License-Identifier: Apache-2.0
#include "lang/lua/lua_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "forge.h"
#include "forge_cfi.h"
#include "forge_symbols.h"
#include "test.h"

#define TEXT 0x1000
#define TEXT_BYTES 0x5000
#define CALL TEXT
#define INNER (TEXT + 0x100)
#define OTHER (TEXT + 0x200)
#define NEW_STATE (TEXT + 0x300)
#define LOOP (TEXT + 0x1000)
#define LOOP_BYTES 0x2400
#define LARGER (TEXT + 0x3800)	/* nothing leads to it */
#define LARGER_BYTES 0x1800
#define DATA 0x9000

static u8 code[TEXT_BYTES];

static void put_call(u64 at, u8 opcode, u64 target)
{
	s32 distance = (s32)(target - (at + 5));

	code[at - TEXT] = opcode;
	memcpy(code + at - TEXT + 1, &distance, 4);
}

/* As Debian's: lua_callk() calls luaD_call(), and that the loop, which has no symbol. */
static void put_code(void)
{
	memset(code, 0x90, sizeof(code));
	put_call(CALL + 0x10, 0xe8, INNER);
	put_call(INNER + 0x10, 0xe8, OTHER);
	put_call(INNER + 0x20, 0xe8, LOOP);
	put_call(OTHER + 0x10, 0xe9, INNER);
}

static const struct sym symbols[] = {
	{ "lua_newstate", NEW_STATE, 0x40, STT_FUNC, STB_GLOBAL },
	{ "lua_ident", DATA, 0x81, STT_OBJECT, STB_GLOBAL },
	{ "lua_callk", CALL, 0x80, STT_FUNC, STB_GLOBAL },
};
static const struct sym symbols_51[] = {
	{ "lua_newstate", NEW_STATE, 0x40, STT_FUNC, STB_GLOBAL },
	{ "lua_ident", DATA, 0x81, STT_OBJECT, STB_GLOBAL },
	{ "lua_call", CALL, 0x80, STT_FUNC, STB_GLOBAL },
};
static const struct sym loop_symbol = { "luaV_execute", LOOP, LOOP_BYTES, STT_FUNC, STB_LOCAL };

static void add_fdes(struct forge *f)
{
	_cleanup_(forge_cfi_done) struct forge_cfi c;

	forge_cfi_init(&c, 0x8000);
	forge_cie(&c, NULL, 0);
	forge_fde(&c, CALL, 0x80, NULL, 0);
	forge_fde(&c, INNER, 0x80, NULL, 0);
	forge_fde(&c, OTHER, 0x40, NULL, 0);
	forge_fde(&c, LOOP, LOOP_BYTES, NULL, 0);
	forge_fde(&c, LARGER, LARGER_BYTES, NULL, 0);
	forge_section(f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x8000, c.b.data, c.b.len);
}

static int recognise_by(const struct sym *exported, u16 machine, u32 symbol_count, bool has_symbol, const char *ident,
			struct lang_file *ret_file, struct lua_facts *ret_facts)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	char data[0x100] = { 0 };
	int r;

	(void)snprintf(data, sizeof(data), "%s", ident);
	forge_init(&f, machine);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
	forge_section(&f, ".rodata", SHT_PROGBITS, SHF_ALLOC, DATA, data, sizeof(data));
	add_fdes(&f);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, exported, symbol_count);
	if (has_symbol)
		forge_symbols(&f, ".symtab", SHT_SYMTAB, &loop_symbol, 1);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	memset(ret_file, 0, sizeof(*ret_file));
	r = lua_file_ops.recognise(exe, ret_file);
	memcpy(ret_facts, ret_file->facts, sizeof(*ret_facts));
	return r;
}

static int recognise(u16 machine, u32 symbol_count, bool has_symbol, const char *ident, struct lang_file *ret_file,
		     struct lua_facts *ret_facts)
{
	return recognise_by(symbols, machine, symbol_count, has_symbol, ident, ret_file, ret_facts);
}

TEST(lua_file_finds_the_loop_of_a_stripped_program)
{
	static const struct { const char *ident; u32 release; const struct sym *exported; } cases[] = {
		{ "$LuaVersion: Lua 5.4.4  Copyright", LUA_RELEASE(4, 4), symbols },
		{ "$LuaVersion: Lua 5.2.4  Copyright", LUA_RELEASE(2, 4), symbols },
		{ "$Lua: Lua 5.1.5 Copyright (C) 1994-2012 Lua.org", LUA_RELEASE(1, 5), symbols_51 },
	};
	struct lang_file file;
	struct lua_facts facts;

	put_code();
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(recognise_by(cases[i].exported, EM_X86_64, 3, false, cases[i].ident, &file, &facts), 0);
		EQ(facts.release, cases[i].release);
		EQ(facts.has_loop, 1);
		EQ(file.mark_count, 1);
		EQ(file.marks[0].start_ea, LOOP);
		EQ(file.marks[0].end_ea, LOOP + LOOP_BYTES);
	}
}

TEST(lua_file_takes_the_symbol_where_there_is_one)
{
	struct lang_file file;
	struct lua_facts facts;

	put_code();
	EQ(recognise(EM_AARCH64, 3, true, "$LuaVersion: Lua 5.3.6  Copyright", &file, &facts), 0);
	EQ(facts.release, LUA_RELEASE(3, 6));
	EQ(facts.has_loop, 1);
	EQ(file.marks[0].start_ea, LOOP);
}

TEST(lua_file_marks_nothing_in_what_it_does_not_know)
{
	static const struct { const char *ident; u32 release; } cases[] = {
		{ "$Lua: Lua 5.1 Copyright", LUA_RELEASE(1, 0) }, { "$LuaVersion: Lua 5.2.0", LUA_RELEASE(2, 0) },
		{ "$LuaVersion: Lua 5.4.0", LUA_RELEASE(4, 0) }, { "$Lua: Lua 5.0.3", LUA_RELEASE(0, 3) },
		{ "$LuaVersion: Lua 5.5", LUA_RELEASE(5, 0) }, { "$LuaVersion: Lua 6.0.1", 0 }, { "", 0 },
	};
	struct lang_file file;
	struct lua_facts facts;

	put_code();
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(recognise(EM_X86_64, 3, true, cases[i].ident, &file, &facts), 0);
		EQ(facts.release, cases[i].release);
		EQ(facts.has_loop, 0);
		EQ(file.mark_count, 0);
	}
	/* No such function is near, or it is for another machine. */
	EQ(recognise(EM_AARCH64, 3, false, "$LuaVersion: Lua 5.4.4", &file, &facts), 0);
	EQ(facts.has_loop, 0);
	put_call(INNER + 0x20, 0xe8, OTHER);
	EQ(recognise(EM_X86_64, 3, false, "$LuaVersion: Lua 5.4.4", &file, &facts), 0);
	EQ(facts.has_loop, 0);
}

TEST(lua_file_leaves_other_files_alone)
{
	struct lang_file file;
	struct lua_facts facts;

	put_code();
	EQ(recognise(EM_X86_64, 1, false, "", &file, &facts), -ENODATA);
}
