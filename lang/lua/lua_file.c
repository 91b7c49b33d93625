// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds Lua if it exports lua_newstate() and lua_ident, which has the version as a text, whatever it is called:
 * lua itself, liblua, an embedder. LuaJIT has no lua_ident. luaV_execute(), the loop, is exported by none: it is by far
 * the largest function that lua_callk(), lua_call() in 5.1, leads to.
 */
#include "lang/lua/lua_file.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/symtab.h"
#include "exe/x86_insn.h"
#include "lang/loop.h"

#define IDENT_BYTES 64		/* that the version is in */
#define REACHED_MAX 48		/* functions that are looked at: the loop is among the first ten */
#define LOOKS_MAX 256		/* calls that are followed: each is looked for among all functions of the file */
#define LOOP_BYTES_MIN 4096	/* 6 KB in 5.1 and 5.2, 9 KB in 5.3, 15 KB in 5.4 */
#define FUNCTION_BYTES_MAX 8192	/* of those that lead to it */

enum { NEW_STATE, IDENT, CALL, OLD_CALL, LOOP, WANTED_COUNT };

static const char *const wanted_names[WANTED_COUNT] = {
	[NEW_STATE] = "lua_newstate",
	[IDENT] = "lua_ident",
	[CALL] = "lua_callk",
	[OLD_CALL] = "lua_call",
	[LOOP] = "luaV_execute",	/* by the symbol table of one that has it */
};

/* "$LuaVersion: Lua 5.4.4  Copyright": it may say nothing of the last number (5.4.0 does). */
static u64 find_release(const struct exe *exe, u64 ident_ea)
{
	static const char before[] = "Lua 5.";
	const char *text = (const char *)exe_bytes_at(exe, ident_ea, IDENT_BYTES), *at;
	u32 minor;

	at = text ? memmem(text, IDENT_BYTES - 4, before, sizeof(before) - 1) : NULL;
	if (!at)
		return 0;
	at += sizeof(before) - 1;
	minor = (u32)(at[0] - '0');
	if (minor > 9)
		return 0;
	return LUA_RELEASE(minor, at[1] == '.' && at[2] >= '0' && at[2] <= '9' ? (u32)(at[2] - '0') : 0);
}

/* Functions that a call leads to, those that it calls itself first. */
struct reach {
	u32 count, looks;
	struct loop_function at[REACHED_MAX];
};

static void add_function(const struct exe *exe, u64 ea, struct reach *reach)
{
	struct loop_function function;

	for (u32 i = 0; i < reach->count; i++)
		if (reach->at[i].start_ea == ea)
			return;
	if (reach->count < REACHED_MAX && reach->looks++ < LOOKS_MAX && loop_function_at(exe, ea, &function) &&
	    function.start_ea == ea)
		reach->at[reach->count++] = function;
}

static void add_calls(const struct exe *exe, const struct loop_function *function, struct reach *reach)
{
	u64 bytes = function->end_ea - function->start_ea;
	const u8 *at = bytes <= FUNCTION_BYTES_MAX ? exe_bytes_at(exe, function->start_ea, bytes) : NULL;

	for (u64 done = 0; at && done < bytes;) {
		struct x86_insn insn = x86_decode(at + done, bytes - done, function->start_ea + done);

		if (insn.kind == X86_BAD || !insn.bytes)
			return;
		done += insn.bytes;
		if ((insn.kind == X86_CALL || insn.kind == X86_JUMP) && insn.target)
			add_function(exe, insn.target, reach);
	}
}

static bool find_loop(const struct exe *exe, const struct symtab_wanted *wanted, struct loop_function *ret_loop)
{
	const struct symtab_wanted *call = &wanted[wanted[CALL].found ? CALL : OLD_CALL];
	struct reach reach = { 0 };
	u64 most = LOOP_BYTES_MIN - 1;

	if (wanted[LOOP].found && loop_function_at(exe, wanted[LOOP].ea, ret_loop))
		return true;
	if (exe->machine != EM_X86_64 || !call->found)
		return false;
	add_function(exe, call->ea, &reach);
	for (u32 i = 0; i < reach.count; i++) {
		u64 bytes = reach.at[i].end_ea - reach.at[i].start_ea;

		if (bytes > most) {
			most = bytes;
			*ret_loop = reach.at[i];
		}
		add_calls(exe, &reach.at[i], &reach);
	}
	return most >= LOOP_BYTES_MIN;
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = { 0 };
	struct loop_function loop;
	struct lua_facts facts = { 0 };

	for (u32 i = 0; i < WANTED_COUNT; i++)
		wanted[i].name = wanted_names[i];
	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	if (!wanted[NEW_STATE].found || !wanted[IDENT].found)
		return -ENODATA;
	(void)symtab_find(exe, SHT_SYMTAB, &wanted[LOOP], 1);
	facts.release = find_release(exe, wanted[IDENT].ea);
	/* One that cannot be read: attach() says so. */
	if (lua_layout_of((u32)facts.release) && find_loop(exe, wanted, &loop) &&
	    !loop_mark(exe, loop.start_ea, loop.end_ea - loop.start_ea, ret_file))
		facts.has_loop = 1;
	else
		ret_file->mark_count = 0;
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops lua_file_ops = { .recognise = recognise };
