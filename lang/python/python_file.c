// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds CPython if it defines _PyRuntime and the loop, whatever it is
 * called: python itself, libpython, uwsgi, an embedder. Beside it there may be
 * the file of the module _asyncio, which says where tasks have what.
 */
#include "lang/python/python_file.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/symtab.h"
#include "lang/list.h"
#include "lang/loop.h"
#include "lang/python/python.h"

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
	r = loop_mark(exe, wanted[LOOP].ea, wanted[LOOP].bytes, ret_file);
	if (r < 0)
		return r;
	facts.runtime_ea = wanted[RUNTIME].ea;
	facts.code_type_ea = wanted[CODE_TYPE].found ? wanted[CODE_TYPE].ea : 0;
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops python_file_ops = { .recognise = recognise };
