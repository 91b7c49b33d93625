// SPDX-License-Identifier: Apache-2.0
#include "lang/perl/perl_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "forge.h"
#include "forge_cfi.h"
#include "forge_symbols.h"
#include "test.h"

#define TEXT 0x1000
#define RUN TEXT
#define RUN_DEBUGGING (TEXT + 0x100)
#define CALL (TEXT + 0x200)
#define EVAL (TEXT + 0x300)
#define DATA 0x8000

static const struct sym with_threads[] = {
	{ "Perl_runops_standard", RUN, 0x40, STT_FUNC, STB_GLOBAL },
	{ "Perl_call_sv", CALL, 0x80, STT_FUNC, STB_GLOBAL },
	{ "PL_revision", DATA, 1, STT_OBJECT, STB_GLOBAL },
	{ "PL_version", DATA + 1, 1, STT_OBJECT, STB_GLOBAL },
	{ "PL_curinterp", DATA + 8, 8, STT_OBJECT, STB_GLOBAL },
	{ "PL_thr_key", DATA + 16, 4, STT_OBJECT, STB_GLOBAL },
	{ "Perl_eval_sv", EVAL, 0x60, STT_FUNC, STB_GLOBAL },
	{ "Perl_runops_debug", RUN_DEBUGGING, 0x50, STT_FUNC, STB_GLOBAL },
};

static const struct sym without_threads[] = {
	{ "Perl_runops_standard", RUN, 0x40, STT_FUNC, STB_GLOBAL },
	{ "Perl_call_sv", CALL, 0x80, STT_FUNC, STB_GLOBAL },
	{ "PL_revision", DATA, 1, STT_OBJECT, STB_GLOBAL },
	{ "PL_version", DATA + 1, 1, STT_OBJECT, STB_GLOBAL },
	{ "PL_op", DATA + 0x10, 8, STT_OBJECT, STB_GLOBAL },
	{ "PL_curcop", DATA + 0x20, 8, STT_OBJECT, STB_GLOBAL },
	{ "PL_curstackinfo", DATA + 0x30, 8, STT_OBJECT, STB_GLOBAL },
};

static int recognise(u16 machine, const struct sym *symbols, u32 count, u8 minor, struct lang_file *ret_file,
		     struct perl_facts *ret_facts)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	u8 code[0x400], data[0x100] = { 5, minor };
	int r;

	memset(code, 0x90, sizeof(code));
	forge_init(&f, machine);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, data, sizeof(data));
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols, count);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	memset(ret_file, 0, sizeof(*ret_file));
	r = perl_file_ops.recognise(exe, ret_file);
	memcpy(ret_facts, ret_file->facts, sizeof(*ret_facts));
	return r;
}

TEST(perl_file_finds_the_loops_and_where_interpreters_are)
{
	struct lang_file file;
	struct perl_facts facts;

	EQ(recognise(EM_X86_64, with_threads, 8, 36, &file, &facts), 0);
	EQ(facts.version, PERL_VERSION(5, 36));
	EQ(facts.has_loop, 1);
	EQ(facts.current_ea, DATA + 8);
	EQ(facts.key_ea, DATA + 16);
	EQ(facts.callers[0].start_ea, CALL);
	EQ(facts.callers[0].end_ea, CALL + 0x80);
	EQ(facts.callers[1].end_ea, EVAL + 0x60);
	EQ(facts.text.start_ea, TEXT);
	EQ(file.mark_count, 2);
	EQ(file.marks[0].start_ea, RUN);
	EQ(file.marks[0].end_ea, RUN + 0x40);
	EQ(file.marks[1].end_ea, RUN_DEBUGGING + 0x50);
}

TEST(perl_file_finds_variables_where_there_are_no_threads)
{
	struct lang_file file;
	struct perl_facts facts;

	EQ(recognise(EM_AARCH64, without_threads, 7, 40, &file, &facts), 0);
	EQ(facts.has_loop, 1);
	EQ(facts.key_ea, 0);
	EQ(facts.op_ea, DATA + 0x10);
	EQ(facts.cop_ea, DATA + 0x20);
	EQ(facts.info_ea, DATA + 0x30);
}

TEST(perl_file_is_known_but_not_marked_if_it_cannot_be_read)
{
	struct lang_file file;
	struct perl_facts facts;

	EQ(recognise(EM_X86_64, with_threads, 1, 36, &file, &facts), -ENODATA);
	EQ(recognise(EM_X86_64, with_threads, 8, 26, &file, &facts), 0);	/* another version */
	EQ(facts.has_loop, 0);
	EQ(file.mark_count, 0);
	EQ(recognise(EM_AARCH64, with_threads, 8, 36, &file, &facts), 0);	/* no values of threads */
	EQ(facts.has_loop, 0);
	EQ(recognise(EM_X86_64, without_threads, 5, 36, &file, &facts), 0);	/* no statement */
	EQ(facts.has_loop, 0);
	EQ(file.mark_count, 0);
}
