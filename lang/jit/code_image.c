// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/code_image.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "lang/jit/code_rows.h"
#include "lang/jit/code_table.h"
#include "lang/lang.h"

#define CODE_READ_MAX (1u << 20)	/* bytes of code that are looked at; of longer pieces none are */
#define CODE_LENGTH_MIN 32		/* what is shorter counts as a gap between functions: it is filled up */
#define STARTS_MAX 16384		/* functions of a piece */

enum { SECTION_NULL, SECTION_FRAMES, SECTION_NAMES, SECTION_CODE, SECTION_SYMBOLS, SECTION_COUNT };

/*
 * What the file begins with; then come the frames, the symbols, and the code:
 *
 *	struct image | frames | Elf64_Sym[] | code
 */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	Elf64_Shdr section[SECTION_COUNT];
	char names[48];
};

enum { NAME_EH = 1, NAME_DEBUG = 11, NAME_NAMES = 24, NAME_CODE = 31, NAME_SYMBOLS = 37 };
static const char image_names[48] = "\0.eh_frame\0.debug_frame\0.names\0.text\0.symtab";

static void image_init(struct image *image, const struct code_place *place)
{
	u64 bytes = place->end_va - place->start_va;

	*image = (struct image){
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN, .e_machine = place->machine, .e_version = EV_CURRENT,
			    .e_phoff = offsetof(struct image, load), .e_shoff = offsetof(struct image, section),
			    .e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
			    .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTION_COUNT,
			    .e_shstrndx = SECTION_NAMES },
		.load = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = place->start_va, .p_memsz = bytes },
	};
	image->section[SECTION_NAMES] = (Elf64_Shdr){ .sh_name = NAME_NAMES, .sh_type = SHT_STRTAB,
						      .sh_offset = offsetof(struct image, names),
						      .sh_size = sizeof(image_names) };
	memcpy(image->names, image_names, sizeof(image_names));
}

/* Appends memory of the process: 0, or -errno and nothing is appended. */
static int add_memory(struct buf *to, const struct lang_process *process, u64 va, size_t bytes)
{
	int r = buf_reserve(to, bytes);

	if (r == 0)
		r = lang_read(process, va, to->data + to->len, bytes);
	if (r == 0)
		to->len += bytes;
	return r;
}

static void add_frames(struct buf *to, struct image *image, const struct lang_process *process,
		       const struct code_place *place, const struct code_frames *frames)
{
	Elf64_Shdr section = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_offset = to->len };

	if (frames) {
		section.sh_name = frames->is_debug ? NAME_DEBUG : NAME_EH;
		section.sh_addr = frames->va;
		section.sh_size = frames->bytes;
		buf_add(to, frames->at, frames->bytes);
	} else {
		section.sh_name = NAME_EH;
		section.sh_addr = place->frames_va;
		section.sh_size = place->frames_bytes;
		if (!place->frames_bytes || place->frames_bytes > CODE_IMAGE_FRAMES_MAX ||
		    add_memory(to, process, place->frames_va, place->frames_bytes) < 0)
			return;
	}
	image->section[SECTION_FRAMES] = section;
}

/* Where functions begin, as they were told of with this code. */
static void add_symbols(struct buf *to, struct image *image, struct code_table *names, const struct code_place *place)
{
	Elf64_Shdr section = { .sh_name = NAME_SYMBOLS, .sh_type = SHT_SYMTAB, .sh_link = SECTION_NAMES,
			       .sh_entsize = sizeof(Elf64_Sym), .sh_offset = to->len };

	for (u32 i = code_table_from(names, place->start_va);
	     i < names->count && names->pieces[i].start_va < place->end_va && section.sh_size < STARTS_MAX; i++) {
		const struct code_piece *piece = &names->pieces[i];
		Elf64_Sym sym = { .st_name = NAME_CODE, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				  .st_shndx = SECTION_CODE, .st_value = piece->start_va,
				  .st_size = piece->end_va - piece->start_va };

		if (piece->order < place->first_name || piece->order >= place->last_name)
			continue;
		buf_add(to, &sym, sizeof(sym));
		section.sh_size++;
	}
	section.sh_size *= sizeof(Elf64_Sym);
	image->section[SECTION_SYMBOLS] = section;
}

static void add_code(struct buf *to, struct image *image, const struct lang_process *process,
		     const struct code_place *place)
{
	u64 bytes = place->end_va - place->start_va, at = to->len;

	if (bytes > CODE_READ_MAX || add_memory(to, process, place->start_va, bytes) < 0)
		return;
	for (; bytes < CODE_LENGTH_MIN; bytes++)
		buf_add(to, "\xcc", 1);
	if (image->load.p_memsz < bytes)
		image->load.p_memsz = bytes;
	image->load.p_offset = at;
	image->load.p_filesz = bytes;
	image->section[SECTION_CODE] = (Elf64_Shdr){ .sh_name = NAME_CODE, .sh_type = SHT_PROGBITS,
						     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						     .sh_addr = place->start_va, .sh_offset = at, .sh_size = bytes };
}

int code_image_rows(const struct lang_process *process, struct code_table *names, const struct code_place *place,
		    const struct code_frames *frames, struct rows **ret_rows)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(buf_done) struct buf bytes;
	struct image image;
	int r;

	image_init(&image, place);
	buf_init(&bytes, sizeof(image) + CODE_IMAGE_FRAMES_MAX + STARTS_MAX * sizeof(Elf64_Sym) + CODE_READ_MAX);
	buf_add(&bytes, &image, sizeof(image));
	add_frames(&bytes, &image, process, place, frames);
	add_symbols(&bytes, &image, names, place);
	add_code(&bytes, &image, process, place);
	r = buf_err(&bytes);
	if (r < 0)
		return r;
	memcpy(bytes.data, &image, sizeof(image));
	r = exe_open_mem(bytes.data, bytes.len, &exe);
	return r < 0 ? r : rows_compile(exe, NULL, ret_rows);
}
