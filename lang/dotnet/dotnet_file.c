// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds CoreCLR if it exports coreclr_initialize(), whatever it is called. Its version is in a text that all
 * of its libraries have.
 */
#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/lang_file.h"
#include "exe/symtab.h"
#include "lang/dotnet/dotnet.h"

#define VERSION_TEXT "@(#)Version "

enum { INITIALIZE, ROOTS, CONTRACT, WANTED_COUNT };

/* A number of at most four digits, and what follows it. */
static const char *read_number(const char *at, const char *end, u64 *ret_number)
{
	*ret_number = 0;
	for (u32 i = 0; i < 4 && at < end && *at >= '0' && *at <= '9'; i++)
		*ret_number = *ret_number * 10 + (u64)(*at++ - '0');
	return at;
}

/* In whichever section the compiler has put it. */
static void find_version(const struct exe *exe, struct dotnet_facts *facts)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *load = &exe->load[i];
		const char *bytes = (const char *)exe_bytes(exe, load->fo, load->file_bytes), *at, *end;

		if (!bytes || load->flags & PF_X)
			continue;
		at = memmem(bytes, load->file_bytes, VERSION_TEXT, strlen(VERSION_TEXT));
		if (!at)
			continue;
		end = bytes + load->file_bytes;
		at = read_number(at + strlen(VERSION_TEXT), end, &facts->major);
		if (at < end && *at == '.')
			(void)read_number(at + 1, end, &facts->minor);
		return;
	}
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = {
		[INITIALIZE] = { .name = "coreclr_initialize" },
		[ROOTS] = { .name = "g_dacTable" },
		[CONTRACT] = { .name = "DotNetRuntimeContractDescriptor" },
	};
	struct dotnet_facts facts = { 0 };

	if (exe->machine != EM_X86_64 && exe->machine != EM_AARCH64)
		return -ENODATA;
	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	if (!wanted[INITIALIZE].found)
		return -ENODATA;
	facts.roots_ea = wanted[ROOTS].ea;
	facts.contract_ea = wanted[CONTRACT].ea;
	facts.is_arm64 = exe->machine == EM_AARCH64;
	find_version(exe, &facts);
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops dotnet_file_ops = { .recognise = recognise };
