// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "forge.h"
#include "forge_cfi.h"
#include "forge_symbols.h"
#include "lang/python/python.h"
#include "test.h"

#define TEXT 0x1000
#define COLD 0x1800
#define DATA 0x4000

static int recognise(struct forge *f, struct lang_file *ret_file)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;

	forge_finish(f);
	EQ(exe_open_mem(f->b.data, f->b.len, &exe), 0);
	memset(ret_file, 0, sizeof(*ret_file));
	return python_file_ops.recognise(exe, ret_file);
}

static struct python_facts facts_of(const struct lang_file *file)
{
	struct python_facts facts;

	memcpy(&facts, file->facts, sizeof(facts));
	return facts;
}

static void forge_code(struct forge *f, u32 machine, const u8 code[0x1000], const struct sym *syms, u32 count,
		       const void *data, size_t data_bytes)
{
	forge_init(f, machine);
	forge_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, 0x1000);
	forge_section(f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, data, data_bytes);
	forge_symbols(f, ".dynsym", SHT_DYNSYM, syms, count);
}

/* A loop of 0x200 bytes that jumps out of itself, to what has an FDE at COLD. */
static void forge_python(struct forge *f, const struct sym *syms, u32 count, const void *data, size_t data_bytes)
{
	u8 code[0x1000];
	s32 away = COLD + 0x20 - (TEXT + 0x106);

	memset(code, 0x90, sizeof(code));
	code[0x100] = 0x0f;
	code[0x101] = 0x84;
	memcpy(code + 0x102, &away, sizeof(away));
	forge_code(f, EM_X86_64, code, syms, count, data, data_bytes);
}

static const struct sym old[] = {
	{ "_PyRuntime", DATA, 16, STT_OBJECT, STB_GLOBAL },
	{ "_PyEval_EvalFrameDefault", TEXT, 0x200, STT_FUNC, STB_GLOBAL },
	{ "PyCode_NewWithPosOnlyArgs", TEXT + 0x300, 1, STT_FUNC, STB_GLOBAL },
	{ "PyFrame_GetBack", TEXT + 0x300, 1, STT_FUNC, STB_GLOBAL },
	{ "PyIter_Send", TEXT + 0x300, 1, STT_FUNC, STB_GLOBAL },
	{ "Py_Version", DATA + 16, 8, STT_OBJECT, STB_GLOBAL },
	{ "PyCode_Type", DATA + 0x100, 8, STT_OBJECT, STB_GLOBAL },
};

static const u32 hex_3_11[8] = { 0, 0, 0, 0, 0x030b02f0 };

TEST(python_file_tells_old_versions_by_what_they_export)
{
	static const u32 minor[] = { 0, 0, 0, 8, 9, 10, 11, 11 };

	for (u32 count = 0; count <= 7; count++) {
		_cleanup_(forge_done) struct forge f;
		struct lang_file file;

		forge_python(&f, old, count, hex_3_11, sizeof(hex_3_11));
		EQ(recognise(&f, &file), minor[count] ? 0 : -ENODATA);
		if (!minor[count])
			continue;
		EQ(facts_of(&file).layout.version, PYTHON_VERSION(minor[count]));
		EQ(facts_of(&file).runtime_ea, DATA);
		EQ(file.marks[0].start_ea, TEXT);
		EQ(file.marks[0].end_ea, TEXT + 0x200);
	}
}

static void add_fdes(struct forge *f)
{
	_cleanup_(forge_cfi_done) struct forge_cfi c;

	forge_cfi_init(&c, 0x3000);
	forge_cie(&c, NULL, 0);
	forge_fde(&c, TEXT, 0x200, NULL, 0);
	forge_fde(&c, COLD, 0x80, NULL, 0);
	forge_section(f, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x3000, c.b.data, c.b.len);
}

TEST(python_file_finds_the_cold_part_of_the_loop)
{
	_cleanup_(forge_done) struct forge f;
	struct lang_file file;

	forge_python(&f, old, 7, hex_3_11, sizeof(hex_3_11));
	add_fdes(&f);
	EQ(recognise(&f, &file), 0);
	EQ(file.mark_count, 2);
	EQ(file.marks[1].start_ea, COLD);
	EQ(file.marks[1].end_ea, COLD + 0x80);
	EQ(facts_of(&file).code_type_ea, DATA + 0x100);
}

/* The marks of a loop for arm64 that has an instruction at TEXT + 0x100. */
static u32 marks_of(u32 instruction)
{
	_cleanup_(forge_done) struct forge f;
	struct lang_file file;
	u8 code[0x1000] = { 0 };

	memcpy(code + 0x100, &instruction, sizeof(instruction));
	forge_code(&f, EM_AARCH64, code, old, 7, hex_3_11, sizeof(hex_3_11));
	add_fdes(&f);
	EQ(recognise(&f, &file), 0);
	if (file.mark_count == 2) {
		EQ(file.marks[1].start_ea, COLD);
		EQ(file.marks[1].end_ea, COLD + 0x80);
	}
	return file.mark_count;
}

TEST(python_file_follows_jumps_of_arm64)
{
	const u32 cold = (COLD - TEXT - 0x100) / 4;

	EQ(marks_of(0x14000000 | (cold + 8)), 2);		/* b, to its middle */
	EQ(marks_of(0x14000000 | cold), 1);			/* b, to its first: a call in the last place */
	EQ(marks_of(0x54000000 | cold << 5), 2);		/* b.eq */
	EQ(marks_of(0xb4000000 | (cold + 1) << 5 | 3), 2);	/* cbz x3 */
	EQ(marks_of(0x37480000 | cold << 5), 2);		/* tbnz w0, #9 */
	EQ(marks_of(0x17ffffff), 1);				/* b, back by one */
	EQ(marks_of(0x94000000 | (cold + 8)), 1);		/* bl */
	EQ(marks_of(0x14000000 | (cold + 0x100)), 1);		/* b, to what has no FDE */
}

/* As Debian's 3.14 has it, in a file of its own. */
static const u64 asyncio[] = { 168, 136, 96, 108, 109, 128, 152, 225864, 10880, 936, 864, 872, 880 };

static void add_asyncio(struct forge *f, size_t bytes)
{
	forge_section(f, ".AsyncioDebug", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x5000, asyncio, bytes);
}

TEST(python_file_reads_what_asyncio_says)
{
	for (u32 count = 0; count <= 7; count += 7) {
		_cleanup_(forge_done) struct forge f;
		struct lang_file file;

		forge_python(&f, old, count, hex_3_11, sizeof(hex_3_11));
		add_asyncio(&f, sizeof(asyncio));
		EQ(recognise(&f, &file), 0);
		EQ(facts_of(&file).asyncio.running_task, 872);
		EQ(facts_of(&file).runtime_ea, count ? DATA : 0);
		EQ(file.mark_count, count ? 1 : 0);
	}
}

TEST(python_file_refuses_a_module_that_says_nothing)
{
	_cleanup_(forge_done) struct forge f;
	struct lang_file file;

	forge_python(&f, old, 0, hex_3_11, sizeof(hex_3_11));
	add_asyncio(&f, sizeof(asyncio) / 2);
	EQ(recognise(&f, &file), -ENODATA);
}

TEST(python_file_refuses_debug_offsets_that_cannot_be)
{
	static const struct sym syms[] = {
		{ "_PyRuntime", DATA, 0x1000, STT_OBJECT, STB_GLOBAL },
		{ "_PyEval_EvalFrameDefault", TEXT, 0x200, STT_FUNC, STB_GLOBAL },
	};
	_cleanup_(forge_done) struct forge f;
	static char data[0x1000] = "xdebugpy";
	struct lang_file file;

	memset(data + 8, 0xee, 1000);
	forge_python(&f, syms, 2, data, sizeof(data));
	EQ(recognise(&f, &file), -ENODATA);
}

TEST(python_file_knows_the_python_of_this_machine)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(closep) int fd = open("/usr/bin/python3", O_RDONLY | O_CLOEXEC);
	struct lang_file file = { 0 };

	if (fd < 0)
		SKIP("no /usr/bin/python3");
	EQ(exe_map(fd, NULL, &exe), 0);
	if (python_file_ops.recognise(exe, &file) < 0)
		SKIP("/usr/bin/python3 has its interpreter in a library");
	OK(facts_of(&file).layout.version >= PYTHON_OLDEST);
	OK(file.mark_count >= 1 && file.marks[0].end_ea > file.marks[0].start_ea);
}
