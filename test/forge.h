/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up ELF64 files for tests: add sections, then finish. Each section with
 * SHF_ALLOC also gets a PT_LOAD, and a PT_NOTE if it is of type SHT_NOTE.
 */
#ifndef FORGE_H
#define FORGE_H

#include <elf.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

#define FORGE_MAX 32

struct forge {
	struct buf b;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[FORGE_MAX];
	Elf64_Shdr shdr[FORGE_MAX];
	char names[1024];
	unsigned int names_len;
};

static inline void forge_init(struct forge *f, unsigned int machine)
{
	*f = (struct forge){ .names_len = 1 };
	buf_init(&f->b, 64 << 20);
	f->ehdr = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = machine, .e_version = EV_CURRENT, .e_ehsize = sizeof(f->ehdr),
		.e_phentsize = sizeof(*f->phdr), .e_shentsize = sizeof(*f->shdr), .e_shnum = 1,
	};
	buf_add(&f->b, &f->ehdr, sizeof(f->ehdr));
	buf_add(&f->b, f->phdr, sizeof(f->phdr));
}

static inline void forge_phdr(struct forge *f, unsigned int type, const Elf64_Shdr *s)
{
	OK(f->ehdr.e_phnum < FORGE_MAX);
	f->phdr[f->ehdr.e_phnum++] = (Elf64_Phdr){
		.p_type = type, .p_flags = PF_R | (s->sh_flags & SHF_EXECINSTR ? PF_X : 0) |
						   (s->sh_flags & SHF_WRITE ? PF_W : 0),
		.p_offset = s->sh_offset,
		.p_vaddr = s->sh_addr, .p_filesz = s->sh_size, .p_memsz = s->sh_size, .p_align = 4,
	};
}

/* Returns its header, which may be changed until forge_finish(). */
static inline Elf64_Shdr *forge_section(struct forge *f, const char *name, unsigned int type, unsigned long flags,
					unsigned long ea, const void *data, size_t len)
{
	Elf64_Shdr *s = &f->shdr[f->ehdr.e_shnum++];

	OK(f->ehdr.e_shnum < FORGE_MAX && f->names_len + strlen(name) + 1 < sizeof(f->names));
	buf_add(&f->b, "\0\0\0\0\0\0\0", -f->b.len % 8);
	*s = (Elf64_Shdr){ .sh_name = f->names_len, .sh_type = type, .sh_flags = flags, .sh_addr = ea,
			   .sh_offset = f->b.len, .sh_size = len, .sh_addralign = 4 };
	memcpy(f->names + f->names_len, name, strlen(name) + 1);
	f->names_len += strlen(name) + 1;
	if (type != SHT_NOBITS)
		buf_add(&f->b, data, len);
	if (flags & SHF_ALLOC)
		forge_phdr(f, PT_LOAD, s);
	if (flags & SHF_ALLOC && type == SHT_NOTE)
		forge_phdr(f, PT_NOTE, s);
	return s;
}

/* After this the file is b.data, b.len bytes long. */
static inline void forge_finish(struct forge *f)
{
	f->ehdr.e_shstrndx = f->ehdr.e_shnum;
	forge_section(f, ".shstrtab", SHT_STRTAB, 0, 0, f->names, sizeof(f->names));
	buf_add(&f->b, "\0\0\0\0\0\0\0", -f->b.len % 8);
	f->ehdr.e_shoff = f->b.len;
	f->ehdr.e_phoff = sizeof(f->ehdr);
	buf_add(&f->b, f->shdr, f->ehdr.e_shnum * sizeof(*f->shdr));
	EQ(buf_err(&f->b), 0);
	memcpy(f->b.data, &f->ehdr, sizeof(f->ehdr));
	memcpy(f->b.data + sizeof(f->ehdr), f->phdr, sizeof(f->phdr));
	memcpy(f->b.data + f->shdr[f->ehdr.e_shstrndx].sh_offset, f->names, sizeof(f->names));
}

static inline void forge_done(struct forge *f)
{
	buf_done(&f->b);
}

#endif
