// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds Perl if it exports Perl_runops_standard() and call_sv(), whatever
 * it is called: perl itself, libperl, an embedder. All that is needed is
 * exported, too, since modules need it.
 */
#include "lang/perl/perl_file.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/symtab.h"
#include "lang/loop.h"

enum {
	RUN, RUN_DEBUGGING, CALL, EVAL, REVISION, VERSION, CURRENT, KEY, OP, COP, INFO, WANTED_COUNT
};

static const char *const wanted_names[WANTED_COUNT] = {
	[RUN] = "Perl_runops_standard",
	[RUN_DEBUGGING] = "Perl_runops_debug",
	[CALL] = "Perl_call_sv",
	[EVAL] = "Perl_eval_sv",
	[REVISION] = "PL_revision",
	[VERSION] = "PL_version",
	[CURRENT] = "PL_curinterp",
	[KEY] = "PL_thr_key",		/* with threads */
	[OP] = "PL_op",			/* without them */
	[COP] = "PL_curcop",
	[INFO] = "PL_curstackinfo",
};

static u64 find_version(const struct exe *exe, const struct symtab_wanted *wanted)
{
	const u8 *revision = wanted[REVISION].found ? exe_bytes_at(exe, wanted[REVISION].ea, 1) : NULL;
	const u8 *version = wanted[VERSION].found ? exe_bytes_at(exe, wanted[VERSION].ea, 1) : NULL;

	return revision && version ? PERL_VERSION(*revision, *version) : 0;
}

static struct lang_mark bounds_of(const struct symtab_wanted *wanted)
{
	return (struct lang_mark){ wanted->ea, wanted->ea + wanted->bytes };
}

/* The segment with the loop. */
static struct lang_mark text_of(const struct exe *exe, u64 loop_ea)
{
	for (u32 i = 0; i < exe->load_count; i++)
		if (loop_ea - exe->load[i].ea < exe->load[i].mem_bytes)
			return (struct lang_mark){ exe->load[i].ea, exe->load[i].ea + exe->load[i].mem_bytes };
	return (struct lang_mark){ 0 };
}

/* Can the state of a thread be found? What libc has for a thread is known on one machine only. */
static bool has_state(const struct exe *exe, const struct perl_facts *facts)
{
	if (facts->key_ea)
		return exe->machine == EM_X86_64 && facts->current_ea;
	return facts->op_ea && facts->cop_ea && facts->info_ea;
}

static int mark_loops(const struct exe *exe, const struct symtab_wanted *wanted, struct lang_file *file)
{
	int r = loop_mark(exe, wanted[RUN].ea, wanted[RUN].bytes, file);

	if (r >= 0 && wanted[RUN_DEBUGGING].found)
		r = loop_mark(exe, wanted[RUN_DEBUGGING].ea, wanted[RUN_DEBUGGING].bytes, file);
	return r;
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = { 0 };
	struct perl_facts facts = { 0 };

	for (u32 i = 0; i < WANTED_COUNT; i++)
		wanted[i].name = wanted_names[i];
	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	if (!wanted[RUN].found || !wanted[CALL].found)
		return -ENODATA;
	facts = (struct perl_facts){
		.version = find_version(exe, wanted), .current_ea = wanted[CURRENT].ea, .key_ea = wanted[KEY].ea,
		.op_ea = wanted[OP].ea, .cop_ea = wanted[COP].ea, .info_ea = wanted[INFO].ea,
		.callers = { bounds_of(&wanted[CALL]), bounds_of(&wanted[EVAL]) },
		.text = text_of(exe, wanted[RUN].ea),
	};
	/* One that cannot be read: attach() says so. */
	if (has_state(exe, &facts) && perl_layout_of((u32)facts.version) && !mark_loops(exe, wanted, ret_file))
		facts.has_loop = 1;
	else
		ret_file->mark_count = 0;
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops perl_file_ops = { .recognise = recognise };
