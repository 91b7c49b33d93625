// SPDX-License-Identifier: Apache-2.0
/*
 * A file that defines __jit_debug_descriptor tells debuggers of the code that
 * it generates (lang/jit/gdb_jit.h): libLLVM exports it; llvmlite, wasmtime and
 * others that were linked with their own have it in the symbol table alone.
 */
#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/lang_file.h"
#include "exe/symtab.h"
#include "lang/jit/jit.h"

#define STRINGS_BYTES_MAX (64u << 20)
#define FORGET_BYTES (4u << 20)	/* searched, after which the pages of the file are given back */

static const char descriptor[] = "__jit_debug_descriptor";

/* Is it worth to look into a large table? Its strings alone are less, and searched at the speed of memory. */
static bool has_string(const struct exe *exe)
{
	struct exe_data symbols, strings;

	if (!symtab_open(exe, SHT_SYMTAB, &symbols, &strings) || strings.bytes > STRINGS_BYTES_MAX)
		return false;
	for (size_t at = 0; at < strings.bytes; at += FORGET_BYTES) {
		size_t left = strings.bytes - at, bytes = FORGET_BYTES + sizeof(descriptor);

		if (memmem(strings.at + at, left < bytes ? left : bytes, descriptor, sizeof(descriptor)))
			return true;
		exe_forget(exe);
	}
	return false;
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted = { .name = descriptor };

	(void)symtab_find(exe, SHT_DYNSYM, &wanted, 1);
	if (!wanted.found && has_string(exe))
		(void)symtab_find(exe, SHT_SYMTAB, &wanted, 1);
	if (!wanted.found)
		return -ENODATA;
	ret_file->facts[JIT_FACT_DESCRIPTOR_EA] = wanted.ea;
	return 0;
}

/* PHP, for one, tells debuggers of its code, too. */
const struct lang_file_ops jit_file_ops = { .recognise = recognise, .is_general = true };
