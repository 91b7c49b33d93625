/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded, read-only access to an ELF file in memory: little-endian, 64 or
 * 32 bits, of any machine. Its contents are hostile: whatever offset, size or
 * count they give is checked against the bytes that are there, nothing is
 * followed twice, and the work of each call is bounded by the file's size.
 *
 * Pointers handed out point into the file and live as long as the struct exe.
 * A file that is truncated while it is mapped raises SIGBUS: map foreign
 * files in the reader process only. Immutable once opened: threads may share.
 */
#ifndef EXE_ELF_H
#define EXE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct lang_file_ops;

/* Counts past these are cut: no linker writes so many. */
#define EXE_SECTIONS_MAX (1u << 20)
#define EXE_LOADS_MAX 32

/* A program header. */
struct exe_phdr {
	u32 type;		/* PT_* */
	u32 flags;		/* PF_* */
	u64 fo, ea;
	u64 file_bytes, mem_bytes;
	u64 align;
};

struct exe_section {
	const char *name;	/* "" if it has none */
	u32 index;
	u32 type;		/* SHT_* */
	u32 link, info;
	u64 flags;		/* SHF_* */
	u64 ea, fo, bytes;
	u64 entry_bytes;
};

struct exe {
	const u8 *at;
	size_t bytes;
	bool mapped;		/* by exe_map(), to be unmapped */
	u8 elf_class;		/* ELFCLASS64 or ELFCLASS32 */
	u16 type, machine;
	u64 entry_ea;
	u64 phdrs_fo, sections_fo;
	u32 phdr_count, section_count;
	u32 phdr_bytes, section_bytes;	/* of one header */
	u64 names_fo, names_bytes;	/* of sections */
	u32 load_count;
	struct exe_phdr load[EXE_LOADS_MAX];	/* the PT_LOADs */
	const struct lang_file_ops *const *langs;	/* who is asked about it (exe/lang_file.h); NULL: nobody */
};

/* The contents of a section. */
struct exe_data {
	const u8 *at;
	size_t bytes;
	void *owned;		/* what to free, if it had to be decompressed */
};

struct exe_note {
	u32 type;
	const char *name;	/* with its NUL, if it has one */
	u32 name_bytes;
	const u8 *desc;
	u32 desc_bytes;
};

/* What is left of a block of notes. */
struct exe_notes {
	const u8 *at;
	size_t bytes;
	u32 align;
};

/* The file in that memory, which stays the caller's. -ENOEXEC if it is not an ELF file we can read. */
int exe_open_mem(const void *at, size_t bytes, struct exe **ret_exe);

/* Maps a regular file (or memfd); the descriptor stays the caller's. -ENOEXEC as above. */
int exe_map(int fd, const struct lang_file_ops *const *langs, struct exe **ret_exe);

/*
 * Gives back the pages of a mapped file that were read so far: they count as our memory, each with the 15 around it.
 * What is read again comes from the page cache. For loops over much of a file, to be called now and then.
 */
void exe_forget(const struct exe *exe);

void exe_free(struct exe *exe);
DEFINE_CLEANUP(struct exe *, exe_free)

/* Program headers by index, below phdr_count. False if the header lies outside of the file. */
bool exe_phdr(const struct exe *exe, u32 index, struct exe_phdr *ret_phdr);

/* Sections by index, below section_count; by name; by type (the first). False if there is none. */
bool exe_section(const struct exe *exe, u32 index, struct exe_section *ret_section);
bool exe_section_named(const struct exe *exe, const char *name, struct exe_section *ret_section);
bool exe_section_typed(const struct exe *exe, u32 type, struct exe_section *ret_section);

/*
 * A section's contents; compressed ones are decompressed to at most max_bytes, others are not copied.
 * -ENODATA if it has none in this file (SHT_NOBITS), -EBADMSG if it is malformed, -E2BIG past max_bytes.
 */
int exe_section_data(const struct exe *exe, const struct exe_section *section, size_t max_bytes,
		     struct exe_data *ret_data);
void exe_data_done(struct exe_data *data);

/* That many bytes of the file, or NULL if they are not all there. */
const u8 *exe_bytes(const struct exe *exe, u64 fo, u64 bytes);

/* That many bytes at an ELF address, as a PT_LOAD would map them, or NULL. */
const u8 *exe_bytes_at(const struct exe *exe, u64 ea, u64 bytes);

/* True if the address lies in a PT_LOAD that may be executed. */
bool exe_executable(const struct exe *exe, u64 ea);

/* Notes of a section or of a PT_NOTE: init, then next until it is false. */
void exe_notes_init(struct exe_notes *notes, const u8 *at, size_t bytes, u64 align);
bool exe_notes_next(struct exe_notes *notes, struct exe_note *ret_note);

/* True if it is of that type and its owner has that name. */
bool exe_note_is(const struct exe_note *note, const char *name, u32 type);

#endif
