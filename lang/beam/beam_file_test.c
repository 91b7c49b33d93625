// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/lang_file.h"
#include "forge_symbols.h"
#include "lang/beam/beam.h"
#include "test.h"

extern const struct lang_file_ops beam_file_ops;

static const struct sym symbols[] = {
	{ "enif_schedule_nif", 0x1000, 8, STT_FUNC, STB_GLOBAL },
	{ "erl_drv_thread_create", 0x1010, 8, STT_FUNC, STB_GLOBAL },
	{ "etp_otp_release", 0x3000, 3, STT_OBJECT, STB_GLOBAL },
};

static int recognise(u32 machine, const char *text, u32 first, u32 count, struct beam_facts *ret_facts)
{
	struct lang_file file = { 0 };
	struct exe *exe;
	struct forge f;
	int r;

	forge_init(&f, machine);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "-CodeInfoPrologue", 17);
	forge_section(&f, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0x3000, text, strlen(text) + 1);
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x5000, "data", 5);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols + first, count);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	r = beam_file_ops.recognise(exe, &file);
	memcpy(ret_facts, file.facts, sizeof(*ret_facts));
	exe_free(exe);
	forge_done(&f);
	return r;
}

TEST(beam_is_known_by_what_native_functions_call)
{
	struct beam_facts facts;

	EQ(recognise(EM_X86_64, "27", 0, 3, &facts), 0);
	EQ(facts.release, 27);
	EQ(facts.has_jit, 0);
	EQ(facts.is_x86_64, 1);
	EQ(facts.text_ea, 0x1000);
	EQ(facts.text_end_ea, 0x1011);
	EQ(facts.data_ea, 0x5000);
	EQ(facts.data_end_ea, 0x5005);
	EQ(recognise(EM_AARCH64, "..-CodeInfoPrologue", 0, 2, &facts), 0);	/* no release is told */
	EQ(facts.release, 0);
	EQ(facts.has_jit, 1);
	EQ(facts.is_x86_64, 0);
	EQ(recognise(EM_X86_64, "x7", 0, 3, &facts), 0);
	EQ(facts.release, 0);
	EQ(recognise(EM_X86_64, "27", 1, 2, &facts), -ENODATA);
	EQ(recognise(EM_X86_64, "27", 0, 1, &facts), -ENODATA);
}
