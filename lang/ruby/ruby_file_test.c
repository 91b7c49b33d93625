// SPDX-License-Identifier: Apache-2.0
#include "lang/ruby/ruby_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "forge.h"
#include "forge_cfi.h"
#include "forge_symbols.h"
#include "test.h"

#define TEXT 0x1000
#define TEXT_BYTES 0x4000
#define EVAL TEXT
#define EVAL_MAIN (TEXT + 0x100)
#define ERRINFO (TEXT + 0x200)
#define EXEC (TEXT + 0x300)
#define STUB (TEXT + 0x3f00)	/* has no FDE */
#define CORE (TEXT + 0x1000)
#define CORE_BYTES 0x2800
#define DATA 0x8000
#define PAIR (DATA + 0x40)

static u8 code[TEXT_BYTES];
static const u32 version_3_3[8] = { 3, 3, 0 }, version_2_7[8] = { 2, 7, 0 }, version_9_9[8] = { 9, 9, 0 };

static void put_call(u64 at, u8 opcode, u64 target)
{
	s32 distance = (s32)(target - (at + 5));

	code[at - TEXT] = opcode;
	memcpy(code + at - TEXT + 1, &distance, 4);
}

/* As Debian's 3.3: no symbol of the loop, calls of it by the distance. */
static void put_code(void)
{
	s32 distance = PAIR - (ERRINFO + 4 + 8);

	memset(code, 0x90, sizeof(code));
	put_call(EVAL + 0x10, 0xe8, STUB);
	put_call(EVAL + 0x20, 0xe9, EXEC);
	put_call(EVAL_MAIN + 0x10, 0xe8, STUB);
	put_call(EVAL_MAIN + 0x18, 0xe8, ERRINFO);
	put_call(EVAL_MAIN + 0x20, 0xe9, EXEC);
	put_call(EXEC + 0x10, 0xe8, ERRINFO);
	put_call(EXEC + 0x20, 0xe8, CORE);
	memcpy(code + ERRINFO - TEXT + 4, "\x66\x48\x8d\x3d", 4);
	memcpy(code + ERRINFO - TEXT + 8, &distance, 4);
}

static const struct sym symbols[] = {
	{ "ruby_api_version", DATA, 12, STT_OBJECT, STB_GLOBAL },
	{ "rb_errinfo", ERRINFO, 0x40, STT_FUNC, STB_GLOBAL },
	{ "rb_cObject", DATA + 0x80, 8, STT_OBJECT, STB_GLOBAL },
	{ "rb_iseq_eval", EVAL, 0x80, STT_FUNC, STB_GLOBAL },
	{ "rb_iseq_eval_main", EVAL_MAIN, 0x80, STT_FUNC, STB_GLOBAL },
	{ "rb_vm_exec", EXEC, 0x80, STT_FUNC, STB_GLOBAL },
	{ "ruby_current_execution_context_ptr", DATA + 0x90, 8, STT_OBJECT, STB_GLOBAL },
};

static void add_fdes(struct forge *f)
{
	_cleanup_(forge_cfi_done) struct forge_cfi c;

	forge_cfi_init(&c, 0x7000);
	forge_cie(&c, NULL, 0);
	forge_fde(&c, EVAL, 0x80, NULL, 0);
	forge_fde(&c, EVAL_MAIN, 0x80, NULL, 0);
	forge_fde(&c, ERRINFO, 0x40, NULL, 0);
	forge_fde(&c, EXEC, 0x80, NULL, 0);
	forge_fde(&c, CORE, CORE_BYTES, NULL, 0);
	forge_section(f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x7000, c.b.data, c.b.len);
}

static int recognise(u32 symbol_count, const u32 version[8], struct lang_file *ret_file, struct ruby_facts *ret_facts)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	u8 data[0x100] = { 0 };
	int r;

	memcpy(data, version, 32);
	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, data, sizeof(data));
	add_fdes(&f);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols, symbol_count);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	memset(ret_file, 0, sizeof(*ret_file));
	r = ruby_file_ops.recognise(exe, ret_file);
	memcpy(ret_facts, ret_file->facts, sizeof(*ret_facts));
	return r;
}

TEST(ruby_file_finds_the_loop_of_a_stripped_library)
{
	struct lang_file file;
	struct ruby_facts facts;

	put_code();
	EQ(recognise(5, version_3_3, &file, &facts), 0);
	EQ(facts.version, RUBY_VERSION(3, 3));
	EQ(facts.exec[0].start_ea, EXEC);
	EQ(facts.exec[0].end_ea, EXEC + 0x80);
	EQ(facts.exec[1].end_ea, 0);
	EQ(facts.core[0].start_ea, CORE);
	EQ(facts.core[0].end_ea, CORE + CORE_BYTES);
	EQ(facts.access, RUBY_ACCESS_PAIR);
	EQ(facts.access_at, PAIR);
	EQ(facts.object_ea, DATA + 0x80);
	EQ(facts.text.start_ea, TEXT);
	EQ(facts.data.start_ea, DATA);
	/* Both, and the two functions that call the loop. */
	EQ(file.mark_count, 4);
	EQ(file.marks[2].start_ea, EVAL);
	EQ(file.marks[3].start_ea, EVAL_MAIN);
}

TEST(ruby_file_takes_calls_by_a_stub_for_calls_of_an_exported_loop)
{
	struct lang_file file;
	struct ruby_facts facts;

	put_code();
	put_call(EVAL + 0x20, 0xe9, STUB);
	put_call(EVAL_MAIN + 0x20, 0xe9, STUB);
	EQ(recognise(6, version_3_3, &file, &facts), 0);
	EQ(facts.exec[0].start_ea, EXEC);
	EQ(file.mark_count, 4);
}

TEST(ruby_file_knows_how_variables_of_threads_are_read)
{
	static const struct { const char *code; u32 access; u64 at; } cases[] = {
		{ "\x64\x48\x8b\x04\x25\xf0\xff\xff\xff", RUBY_ACCESS_OFFSET, 0 - 16ull },
		{ "\x48\xc7\xc0\xe8\xff\xff\xff\x64\x48\x8b\x00", RUBY_ACCESS_OFFSET, 0 - 24ull },
		{ "\x48\x8b\x05\x09\x01\x01\x01\x64\x48\x8b\x00", RUBY_ACCESS_WORD, ERRINFO + 7 + 0x01010109 },
		{ "\x48\x8b\x05\x09\x01\x01\x01\x48\x8b\x00\x90", RUBY_ACCESS_NONE, 0 },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lang_file file;
		struct ruby_facts facts;

		put_code();
		memset(code + ERRINFO - TEXT, 0x90, 0x40);
		memcpy(code + ERRINFO - TEXT, cases[i].code, i ? 11 : 9);
		EQ(recognise(5, version_3_3, &file, &facts), 0);
		EQ(facts.access, cases[i].access);
		EQ(facts.access_at, cases[i].at);
		EQ(file.mark_count, cases[i].access ? 4 : 0);
	}
}

TEST(ruby_file_reads_the_variable_of_2_7)
{
	struct lang_file file;
	struct ruby_facts facts;

	put_code();
	EQ(recognise(7, version_2_7, &file, &facts), 0);
	EQ(facts.version, RUBY_VERSION(2, 7));
	EQ(facts.access, RUBY_ACCESS_GLOBAL);
	EQ(facts.access_at, DATA + 0x90);
}

TEST(ruby_file_is_known_but_not_marked_if_it_cannot_be_read)
{
	struct lang_file file;
	struct ruby_facts facts;

	put_code();
	EQ(recognise(2, version_3_3, &file, &facts), -ENODATA);
	EQ(recognise(5, version_9_9, &file, &facts), 0);
	EQ(file.mark_count, 0);
	EQ(facts.exec[0].end_ea, 0);
	/* Nothing that both call. */
	put_call(EVAL_MAIN + 0x20, 0xe9, CORE);
	EQ(recognise(5, version_3_3, &file, &facts), 0);
	EQ(facts.exec[0].end_ea, 0);
}
