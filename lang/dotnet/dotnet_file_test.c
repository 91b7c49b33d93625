// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/lang_file.h"
#include "forge_symbols.h"
#include "lang/dotnet/dotnet.h"
#include "test.h"

extern const struct lang_file_ops dotnet_file_ops;

static const struct sym symbols[] = {
	{ "coreclr_initialize", 0x1000, 8, STT_FUNC, STB_GLOBAL }, { "g_dacTable", 0x2000, 8, STT_OBJECT, STB_GLOBAL },
	{ "DotNetRuntimeContractDescriptor", 0x3000, 40, STT_OBJECT, STB_GLOBAL },
};

static int recognise(u32 machine, const char *text, u32 first, u32 count, struct dotnet_facts *ret_facts)
{
	struct lang_file file = { 0 };
	struct exe *exe;
	struct forge f;
	int r;

	forge_init(&f, machine);
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC, 0x1000, text, strlen(text));
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols + first, count);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	r = dotnet_file_ops.recognise(exe, &file);
	memcpy(ret_facts, file.facts, sizeof(*ret_facts));
	exe_free(exe);
	forge_done(&f);
	return r;
}

TEST(dotnet_is_known_by_what_it_exports)
{
	struct dotnet_facts facts;

	EQ(recognise(EM_X86_64, "...@(#)Version 10.0.1526.53008 @Commit", 0, 3, &facts), 0);
	EQ(facts.major, 10);
	EQ(facts.minor, 0);
	EQ(facts.roots_ea, 0x2000);
	EQ(facts.contract_ea, 0x3000);
	EQ(facts.is_arm64, 0);
	EQ(recognise(EM_AARCH64, "@(#)Version 4.700.22.11601", 0, 1, &facts), 0);	/* 3.1 */
	EQ(facts.major, 4);
	EQ(facts.minor, 700);
	EQ(facts.roots_ea, 0);
	EQ(facts.is_arm64, 1);
	EQ(recognise(EM_X86_64, "@(#)Version ", 0, 2, &facts), 0);
	EQ(facts.major, 0);
	EQ(recognise(EM_X86_64, "nothing", 0, 2, &facts), 0);
	EQ(facts.major, 0);
	EQ(recognise(EM_X86_64, "@(#)Version 8.0", 1, 2, &facts), -ENODATA);
	EQ(recognise(EM_386, "@(#)Version 8.0", 0, 3, &facts), -ENODATA);
}
