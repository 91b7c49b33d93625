// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/hotspot_file.h"

#include <errno.h>

#include "exe/elf.h"
#include "forge_symbols.h"
#include "lang/hotspot/vm.h"

static const char *const names[VM_SYMBOL_COUNT] = {
#define X(ID, symbol) [VM_SYM_##ID] = symbol,
	VM_SYMBOLS(X)
#undef X
};

static int recognise(u32 machine, u32 count, struct lang_file *file)
{
	struct sym symbols[VM_SYMBOL_COUNT];
	struct exe *exe;
	struct forge f;
	int r;

	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++)
		symbols[i] = (struct sym){ names[i], 0x1000 + 8 * i, 8, STT_OBJECT, STB_GLOBAL };
	forge_init(&f, machine);
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC, 0x1000, "01234567", 8);
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols, count);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	r = hotspot_file_ops.recognise(exe, file);
	exe_free(exe);
	forge_done(&f);
	return r;
}

TEST(hotspot_is_known_by_what_it_exports)
{
	struct lang_file file = { 0 };

	EQ(recognise(EM_X86_64, VM_SYMBOL_COUNT, &file), 0);
	EQ(file.facts[VM_SYM_STRUCTS], 0x1000);
	EQ(file.facts[VM_SYM_TYPE_SIZE], 0x1000 + 8 * VM_SYM_TYPE_SIZE);
	EQ(file.mark_count, 0);
}

TEST(hotspot_is_not_a_file_that_lacks_an_export)
{
	struct lang_file file = { 0 };

	EQ(recognise(EM_X86_64, VM_SYMBOL_COUNT - 1, &file), -ENODATA);
	EQ(recognise(EM_386, VM_SYMBOL_COUNT, &file), -ENODATA);
	EQ(recognise(EM_AARCH64, VM_SYMBOL_COUNT, &file), 0);
}
