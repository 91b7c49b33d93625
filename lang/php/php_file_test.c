// SPDX-License-Identifier: Apache-2.0
#include "lang/php/php_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "forge.h"
#include "forge_cfi.h"
#include "forge_symbols.h"
#include "test.h"

#define TEXT 0x1000
#define LOOP TEXT
#define CALL (TEXT + 0x200)
#define RODATA 0x6000
#define DATA 0x8000

static const struct sym symbols[] = {
	{ "execute_ex", LOOP, 0x100, STT_FUNC, STB_GLOBAL },
	{ "zend_call_function", CALL, 0x80, STT_FUNC, STB_GLOBAL },
	{ "executor_globals", DATA, 0x80, STT_OBJECT, STB_GLOBAL },
};

/* As Debian's 8.2 begins, and Ubuntu's 8.5. */
static const char flat[] = "\x41\x55\x41\x54\x55\x53\x48\x83\xec\x78";
static const char framed[] = "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x41\x55\x41\x54\x53\x48\x81\xec\x98\0\0\0";

static int recognise(const char *prologue, size_t bytes, u32 count, const char *version, struct lang_file *ret_file,
		     struct php_facts *ret_facts)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	u8 code[0x400], data[0x100] = { 0 };
	char text[0x80] = "something else";
	int r;

	memset(code, 0x90, sizeof(code));
	memcpy(code, prologue, bytes);
	memcpy(text + 0x20, version, strlen(version));
	forge_init(&f, EM_X86_64);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code));
	forge_section(&f, ".rodata", SHT_PROGBITS, SHF_ALLOC, RODATA, text, sizeof(text));
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, data, sizeof(data));
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols, count);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	memset(ret_file, 0, sizeof(*ret_file));
	r = php_file_ops.recognise(exe, ret_file);
	memcpy(ret_facts, ret_file->facts, sizeof(*ret_facts));
	return r;
}

TEST(php_file_finds_the_loop_and_how_much_stack_it_takes)
{
	struct lang_file file;
	struct php_facts facts;

	EQ(recognise(flat, sizeof(flat) - 1, 3, "X-Powered-By: PHP/8.2.32", &file, &facts), 0);
	EQ(facts.version, PHP_VERSION(8, 2));
	EQ(facts.globals_ea, DATA);
	EQ(facts.loop[0].start_ea, LOOP);
	EQ(facts.loop[0].end_ea, LOOP + 0x100);
	EQ(facts.text.start_ea, TEXT);
	EQ(facts.frame_bytes, 8 + 4 * 8 + 0x78);
	EQ(facts.fp_below, 32);
	EQ(file.mark_count, 2);
	EQ(file.marks[1].start_ea, CALL);
	EQ(recognise(framed, sizeof(framed) - 1, 3, "X-Powered-By: PHP/8.5.4", &file, &facts), 0);
	EQ(facts.version, PHP_VERSION(8, 5));
	EQ(facts.frame_bytes, 8 + 4 * 8 + 0x98);
	EQ(facts.fp_below, 16);
}

TEST(php_file_is_known_but_not_marked_if_it_cannot_be_read)
{
	static const char *const texts[] = {
		"X-Powered-By: PHP/9.9.1", "X-Powered-By: PHP/8", "X-Powered-By: PHP/", "",
	};
	struct lang_file file;
	struct php_facts facts;

	EQ(recognise(flat, sizeof(flat) - 1, 1, "X-Powered-By: PHP/8.2.32", &file, &facts), -ENODATA);
	EQ(recognise(flat, sizeof(flat) - 1, 2, "X-Powered-By: PHP/8.2.32", &file, &facts), 0);	/* threads' own */
	EQ(file.mark_count, 0);
	for (u32 i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		EQ(recognise(flat, sizeof(flat) - 1, 3, texts[i], &file, &facts), 0);
		EQ(file.mark_count, 0);
		EQ(facts.loop[0].end_ea, 0);
	}
}
