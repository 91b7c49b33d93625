// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/hotspot_file.h"

#include <errno.h>

#include "exe/elf.h"
#include "exe/symtab.h"
#include "lang/hotspot/vm.h"

_Static_assert(VM_SYMBOL_COUNT <= LANG_FACTS_MAX, "an address for each");

/* libjvm, whatever it is called: it exports the tables for debuggers. */
static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[VM_SYMBOL_COUNT] = {
#define X(ID, symbol) [VM_SYM_##ID] = { .name = symbol },
		VM_SYMBOLS(X)
#undef X
	};

	if ((exe->machine != EM_X86_64 && exe->machine != EM_AARCH64) ||
	    symtab_find(exe, SHT_DYNSYM, wanted, VM_SYMBOL_COUNT) != VM_SYMBOL_COUNT)
		return -ENODATA;
	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++)
		ret_file->facts[i] = wanted[i].ea;
	return 0;
}

const struct lang_file_ops hotspot_file_ops = {
	.recognise = recognise,
};
