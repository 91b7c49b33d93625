// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds CPython if it defines _PyRuntime and the loop, whatever it is
 * called: python itself, libpython, uwsgi, an embedder. Beside it there may be
 * the file of the module _asyncio, which says where tasks have what.
 *
 * The loop may be in several pieces. gcc moves what is unlikely to a .cold
 * part, which has an FDE of its own: where jumps lead out of the function.
 * That part may be nearly all of it (Debian's 3.14).
 */
#include "lang/python/python_file.h"

#include <errno.h>
#include <string.h>

#include "exe/arm64_insn.h"
#include "exe/cfi.h"
#include "exe/elf.h"
#include "exe/symtab.h"
#include "exe/x86_insn.h"
#include "lang/list.h"
#include "lang/python/python.h"

#define LOOP_BYTES_MAX (1u << 20)	/* 58 KB, mostly */
#define JUMPS_MAX 32		/* that lead out of the loop, and are looked after */

enum { RUNTIME, LOOP, VERSION, CODE_TYPE, SINCE_3_10, SINCE_3_9, SINCE_3_8, WANTED_COUNT };

static const char *const wanted_names[WANTED_COUNT] = {
	[RUNTIME] = "_PyRuntime",
	[LOOP] = "_PyEval_EvalFrameDefault",
	[VERSION] = "Py_Version",		/* from 3.11 on */
	[CODE_TYPE] = "PyCode_Type",
	[SINCE_3_10] = "PyIter_Send",
	[SINCE_3_9] = "PyFrame_GetBack",
	[SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
};

static u32 find_version(const struct exe *exe, const struct symtab_wanted *wanted)
{
	const u8 *at = wanted[VERSION].found ? exe_bytes_at(exe, wanted[VERSION].ea, sizeof(u32)) : NULL;
	u32 hex;

	if (at) {
		memcpy(&hex, at, sizeof(hex));
		return hex >> 16;
	}
	if (wanted[SINCE_3_10].found)
		return PYTHON_VERSION(10);
	if (wanted[SINCE_3_9].found)
		return PYTHON_VERSION(9);
	return wanted[SINCE_3_8].found ? PYTHON_VERSION(8) : 0;
}

static int find_layout(const struct exe *exe, const struct symtab_wanted *wanted, struct python_layout *ret_layout)
{
	u64 bytes = wanted[RUNTIME].bytes;
	const u8 *at = exe_bytes_at(exe, wanted[RUNTIME].ea, bytes);

	if (at && python_layout_speaks(at, bytes))
		return python_layout_read(at, bytes, ret_layout);
	return python_layout_known(find_version(exe, wanted), exe->machine, ret_layout);
}

static void add_mark(struct lang_file *file, u64 start_ea, u64 end_ea)
{
	if (file->mark_count < LANG_MARKS_MAX && start_ea < end_ea)
		file->marks[file->mark_count++] = (struct lang_mark){ start_ea, end_ea };
}

/* Looking for the FDE that an address lies in. */
struct cold_search {
	u64 ea;
	u64 start_ea, end_ea;
};

static void look_for_cold(void *arg, u64 start_ea, u64 end_ea)
{
	struct cold_search *search = arg;

	if (start_ea <= search->ea && search->ea < end_ea) {
		search->start_ea = start_ea;
		search->end_ea = end_ea;
	}
}

/* A jump in the loop's code. */
struct jump {
	u64 target_ea;		/* 0: it is none */
	u32 bytes;		/* of the instruction; 0: it is none */
	bool stays;		/* in the function; others may be calls in its last place */
};

static struct jump jump_of_x86(const u8 *at, size_t bytes, u64 ea)
{
	struct x86_insn insn = x86_decode(at, bytes, ea);
	struct jump jump = { .bytes = insn.bytes };

	if (insn.kind == X86_BRANCH) {
		jump.target_ea = insn.target;
		jump.stays = true;
	}
	return jump;
}

/* Conditional ones reach a megabyte: compilers go to a .cold part by others. */
static struct jump jump_of_arm64(const u8 *at, size_t bytes, u64 ea)
{
	struct jump jump = { .bytes = 4 };
	u32 word;

	if (bytes < sizeof(word))
		return (struct jump){ 0 };
	memcpy(&word, at, sizeof(word));
	jump.target_ea = arm64_jump(word, ea, &jump.stays);
	return jump;
}

/* Marks what a jump leads to, if that is a part of the loop: nobody calls the middle of a function. */
static bool mark_cold(const struct exe *exe, const struct jump *jump, struct lang_file *file)
{
	struct cold_search cold = { .ea = jump->target_ea };

	if (cfi_each_function(exe, look_for_cold, &cold) <= 0 || (!jump->stays && cold.start_ea == cold.ea))
		return false;
	add_mark(file, cold.start_ea, cold.end_ea);
	return true;
}

/* The loop, and its .cold part if it has one. */
static int mark_loop(const struct exe *exe, const struct symtab_wanted *loop, struct lang_file *file)
{
	u64 bytes = loop->bytes < LOOP_BYTES_MAX ? loop->bytes : LOOP_BYTES_MAX;
	const u8 *at = exe_bytes_at(exe, loop->ea, bytes);
	u32 looked = 0;

	add_mark(file, loop->ea, loop->ea + bytes);
	if (!at || !bytes)
		return -ENODATA;
	for (u64 done = 0; done < bytes && looked < JUMPS_MAX;) {
		struct jump jump = (exe->machine == EM_AARCH64 ? jump_of_arm64 : jump_of_x86)(at + done, bytes - done,
											loop->ea + done);

		if (!jump.bytes)
			break;
		done += jump.bytes;
		if (!jump.target_ea || jump.target_ea - loop->ea < bytes)
			continue;
		looked++;
		if (mark_cold(exe, &jump, file))
			break;
	}
	return 0;
}

static void find_asyncio(const struct exe *exe, struct python_asyncio *ret_asyncio)
{
	struct exe_section section;
	const u8 *at = NULL;

	if (exe_section_named(exe, ".AsyncioDebug", &section))
		at = exe_bytes_at(exe, section.ea, section.bytes);
	if (at)
		(void)python_layout_read_asyncio(at, section.bytes, ret_asyncio);
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = { 0 };
	struct python_facts facts = { 0 };
	struct exe_section section;
	int r;

	for (u32 i = 0; i < WANTED_COUNT; i++)
		wanted[i].name = wanted_names[i];
	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	/* From 3.10 on it has a section of its own, which tells where it is worth to look into a large table. */
	if (!wanted[RUNTIME].found && exe_section_named(exe, ".PyRuntime", &section))
		(void)symtab_find(exe, SHT_SYMTAB, wanted, WANTED_COUNT);
	find_asyncio(exe, &facts.asyncio);
	if (!wanted[RUNTIME].found || !wanted[LOOP].found) {
		memcpy(ret_file->facts, &facts, sizeof(facts));
		return python_facts_are_part(&facts) ? 0 : -ENODATA;
	}
	r = find_layout(exe, wanted, &facts.layout);
	/* A newer version that cannot be read: attach() says so. */
	if (r < 0 && r != -EPROTONOSUPPORT)
		return -ENODATA;
	r = mark_loop(exe, &wanted[LOOP], ret_file);
	if (r < 0)
		return r;
	facts.runtime_ea = wanted[RUNTIME].ea;
	facts.code_type_ea = wanted[CODE_TYPE].found ? wanted[CODE_TYPE].ea : 0;
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops python_file_ops = { .recognise = recognise };
