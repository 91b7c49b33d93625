/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime that generates code tells GDB of it, in this process's own memory. */
#ifndef FORGE_JIT_H
#define FORGE_JIT_H

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "base/types.h"

/* sub $8,%rsp; call *%rsi; add $8,%rsp; ret; and int3 until the next function: push %rbx; call *%rsi; pop %rbx; ret */
static const u8 x86_code[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
			       0x53, 0xff, 0xd6, 0x5b, 0xc3 };

enum { NAMES = 1, TEXT = 9, SYMTAB = 15 };
static const char strings[] = "\0.strtab\0.text\0.symtab\0first\0second\0";
enum { FIRST = 23, SECOND = 29 };

/* What LLVM leaves: symbols count from the section. */
struct object {
	Elf64_Ehdr header;
	Elf64_Shdr section[4];
	Elf64_Sym symbol[3];
	char strings[sizeof(strings)];
};

static void object_init(struct object *o, u64 text_va, u64 text_bytes)
{
	*o = (struct object){
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_REL, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			    .e_shoff = offsetof(struct object, section), .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 1 },
		.section = {
			[1] = { .sh_name = NAMES, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct object, strings),
				.sh_size = sizeof(strings) },
			[2] = { .sh_name = TEXT, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_addr = text_va, .sh_size = text_bytes },
			[3] = { .sh_name = SYMTAB, .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct object, symbol),
				.sh_size = sizeof(o->symbol), .sh_link = 1, .sh_entsize = sizeof(Elf64_Sym) },
		},
		.symbol = {
			[1] = { .st_name = FIRST, .st_info = STT_FUNC, .st_shndx = 2, .st_value = 0, .st_size = 11 },
			[2] = { .st_name = SECOND, .st_info = STT_FUNC, .st_shndx = 2, .st_value = 16 },
		},
	};
	memcpy(o->strings, strings, sizeof(strings));
}

struct entry {
	struct entry *next, *previous;
	const void *file;
	u64 bytes;
};

struct descriptor {
	u32 version, action;
	struct entry *changed, *first;
};

#endif
