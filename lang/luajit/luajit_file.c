// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds LuaJIT if it exports lua_newstate() and luaJIT_setmode(), whatever it is called: luajit, libluajit, an
 * embedder. The interpreter is one piece of assembly without symbols, with one FDE: the one that makes its native frame
 * where C code calls it, in four places. Where it keeps what it knows of traces, which differs from release to release,
 * its instructions tell.
 */
#include "lang/luajit/luajit_file.h"

#include <errno.h>
#include <string.h>

#include "exe/cfi.h"
#include "exe/elf.h"
#include "exe/symtab.h"
#include "lang/luajit/luajit.h"

#define CODE_MIN 8192		/* bytes of the interpreter: 16 KB on x86-64 */
#define CODE_MAX (1u << 17)
#define ENTRIES 4		/* lj_vm_call(), lj_vm_pcall(), lj_vm_cpcall(), lj_vm_resume() */
#define CANDIDATES_MAX 64
#define GLOBAL_MAX 4096		/* bytes of struct global_State */
#define STATE_MAX 65536		/* ... with what is behind it */

enum { NEW_STATE, SET_MODE, PROFILE, WANTED_COUNT };

static const char *const wanted_names[WANTED_COUNT] = {
	[NEW_STATE] = "lua_newstate",
	[SET_MODE] = "luaJIT_setmode",
	[PROFILE] = "luaJIT_profile_start",	/* since 2.1 */
};

struct candidates {
	u32 count;
	struct lang_mark at[CANDIDATES_MAX];
};

static void look_at(void *arg, u64 start_ea, u64 end_ea)
{
	struct candidates *found = arg;

	if (end_ea - start_ea >= CODE_MIN && end_ea - start_ea <= CODE_MAX && found->count < CANDIDATES_MAX)
		found->at[found->count++] = (struct lang_mark){ start_ea, end_ea };
}

static u32 word_at(const u8 *at)
{
	u32 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Stores of registers in the global state: as each machine has them. */
struct stores {
	u64 base;		/* where the base of a trace goes, behind the state that runs; 0: not found */
	u64 traces, number;
};

/* A displacement from the table of instructions is one of the global state if it is not far. */
static u64 field_of(u32 displacement, u64 table, u64 limit)
{
	u64 field = table + (u64)(s64)(s32)displacement;

	return field < limit ? field : 0;
}

/* Does the interpreter store the state there? It is the word before that for the base of a trace. */
static bool stores_state_x86(const u8 *code, u64 bytes, u64 table, u64 field)
{
	static const u8 state_to[] = { 0x49, 0x89, 0xae };

	for (u64 i = 0; i + 7 <= bytes; i++)
		if (!memcmp(code + i, state_to, 3) && field_of(word_at(code + i + 3), table, GLOBAL_MAX) == field)
			return true;
	return false;
}

/*
 * x86-64: r14 has the table of instructions, which is so many bytes behind the global state as is added when it is set.
 * What enters a trace, mov rcx, [r14 + traces]; mov rax, [rcx + rax * 8]; mov rax, [rax + 88], stores rdx, the base.
 * The number of the trace, which that stores itself, is -1 for the interpreter.
 */
static void find_stores_x86(const u8 *code, u64 bytes, struct stores *ret_stores)
{
	static const u8 table_of[] = { 0x49, 0x81, 0xc6 }, base_to[] = { 0x49, 0x89, 0x96 },
			trace_of[] = { 0x49, 0x8b, 0x8e }, number_to[] = { 0x41, 0xc7, 0x86 },
			then[] = { 0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40, LUAJIT_TRACE_MACHINE };
	u64 table = 0, field;

	for (u64 i = 0; i + 16 <= bytes && !table; i++)
		if (!memcmp(code + i, table_of, 3))
			table = word_at(code + i + 3);
	for (u64 i = 0; table && i + 16 <= bytes; i++) {
		const u8 *at = code + i;

		field = field_of(word_at(at + 3), table, STATE_MAX);
		if (!memcmp(at, base_to, 3) && field < GLOBAL_MAX && field > 8 &&
		    stores_state_x86(code, bytes, table, field - 8))
			ret_stores->base = field;
		else if (!memcmp(at, trace_of, 3) && !memcmp(at + 7, then, sizeof(then)))
			ret_stores->traces = field;
		else if (!memcmp(at, number_to, 3) && word_at(at + 7) == 0xffffffffu && field < GLOBAL_MAX)
			ret_stores->number = field;
	}
}

/* arm64: x22 has the global state, x19 the base, x23 the state. Where a register is stored there, or 0. */
static u64 field_of_arm64(const u8 *at, u32 reg)
{
	return (word_at(at) & 0xffc003ff) == (0xf9000000 | 22 << 5 | reg) ? 8ull * (word_at(at) >> 10 & 0xfff) : 0;
}

static void find_stores_arm64(const u8 *code, u64 bytes, struct stores *ret_stores)
{
	for (u64 i = 0; i + 4 <= bytes; i += 4) {
		u64 field = field_of_arm64(code + i, 19);

		for (u64 j = 0; field > 8 && j + 4 <= bytes; j += 4)
			if (field_of_arm64(code + j, 23) == field - 8)
				ret_stores->base = field;
	}
}

/* How often the interpreter's native frame is made there. */
static u32 entries_in(u16 machine, const u8 *code, u64 bytes)
{
	static const u8 save[] = { 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28 };
	u32 count = 0;

	for (u64 i = 0; machine == EM_X86_64 && i + sizeof(save) <= bytes; i++)
		count += !memcmp(code + i, save, sizeof(save));
	/* sub sp, sp, 208; stp x29, x30, [sp, 192] */
	for (u64 i = 0; machine == EM_AARCH64 && i + 8 <= bytes; i += 4)
		count += word_at(code + i) == 0xd10343ff && word_at(code + i + 4) == 0xa90c7bfd;
	return count;
}

static bool find_interpreter(const struct exe *exe, struct lang_file *file, struct luajit_facts *facts)
{
	struct candidates found = { 0 };

	if (cfi_each_function(exe, look_at, &found) <= 0)
		return false;
	for (u32 i = 0; i < found.count; i++) {
		u64 bytes = found.at[i].end_ea - found.at[i].start_ea;
		const u8 *code = exe_bytes_at(exe, found.at[i].start_ea, bytes);
		struct stores stores = { 0 };

		if (!code || entries_in(exe->machine, code, bytes) < ENTRIES)
			continue;
		(exe->machine == EM_X86_64 ? find_stores_x86 : find_stores_arm64)(code, bytes, &stores);
		/* Else its objects have addresses of 32 bits, or it is none that we know. */
		if (!stores.base)
			return false;
		facts->running = stores.base;
		if (stores.number && stores.traces) {
			facts->number = stores.number;
			facts->traces = stores.traces;
		}
		file->marks[file->mark_count++] = found.at[i];
		return true;
	}
	return false;
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = { 0 };
	struct luajit_facts facts = { 0 };

	for (u32 i = 0; i < WANTED_COUNT; i++)
		wanted[i].name = wanted_names[i];
	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	if (!wanted[NEW_STATE].found || !wanted[SET_MODE].found)
		return -ENODATA;
	/* One that cannot be read: attach() says so. */
	facts.has_loop = wanted[PROFILE].found && find_interpreter(exe, ret_file, &facts);
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops luajit_file_ops = { .recognise = recognise };
