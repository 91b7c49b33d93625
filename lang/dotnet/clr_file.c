// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lang/dotnet/clr_layout.h"
#include "lang/dotnet/metadata.h"
#include "lang/lang.h"
#include "lang/memory.h"

#define SEARCH_BYTES_MAX (32u << 20)	/* from its metadata back to where an image begins */
#define SEARCH_PAGES 4			/* that are read at once (proc/peek.h) */
#define MZ 0x5a4d
#define PE_SIGNATURE 0x4550u
#define PE_32 0x10b
#define PE_64 0x20b
#define PE_SECTIONS_MAX 96
#define PE_DEBUG_DIRECTORY 6
#define PE_CLI_DIRECTORY 14
#define CLI_METADATA 8

#define DEBUG_ENTRY_BYTES 28
#define DEBUG_ENTRIES_MAX 64
#define DEBUG_CODE_VIEW 2
#define DEBUG_EMBEDDED 17
#define PORTABLE 0x504d			/* the version of an entry that is of a portable PDB */
#define RSDS 0x53445352u

/* An image: as its file is, or with its sections where they belong. */
struct image {
	u64 base_va, directories_va, sections_va;
	u32 section_count;
	bool is_flat;
};

/* Where in memory something of the image is; 0: nowhere. */
static u64 image_va(struct memory *m, const struct image *image, u32 rva)
{
	if (!image->is_flat)
		return rva ? image->base_va + rva : 0;
	for (u32 i = 0; i < image->section_count && !memory_err(m); i++) {
		u64 at = image->sections_va + 40ull * i;
		u32 start = memory_u32(m, at + 12), bytes = memory_u32(m, at + 16);

		if (rva >= start && rva - start < bytes)
			return image->base_va + memory_u32(m, at + 20) + (rva - start);
	}
	return 0;
}

/* Does its CLI header lead to that metadata, or to any, if it is 0? */
static bool has_metadata(struct memory *m, const struct image *image, u64 root_va)
{
	u64 cli = image_va(m, image, memory_u32(m, image->directories_va + 8 * PE_CLI_DIRECTORY));
	u64 root = cli ? image_va(m, image, memory_u32(m, cli + CLI_METADATA)) : 0;

	if (!root || memory_err(m))
		return false;
	return root_va ? root == root_va : memory_u32(m, root) == METADATA_SIGNATURE && !memory_err(m);
}

/* Is there an image of that metadata, or of any? */
static bool open_image(struct memory *m, u64 base_va, u64 root_va, struct image *ret_image)
{
	u64 pe = base_va + memory_u32(m, base_va + 0x3c), optional = pe + 24;
	u16 magic = memory_u16(m, optional);
	struct image image = { .base_va = base_va, .section_count = memory_u16(m, pe + 6) };

	if (memory_u32(m, pe) != PE_SIGNATURE || (magic != PE_32 && magic != PE_64) || memory_err(m))
		return false;
	if (image.section_count > PE_SECTIONS_MAX)
		image.section_count = PE_SECTIONS_MAX;
	image.directories_va = optional + (magic == PE_64 ? 112 : 96);
	image.sections_va = optional + memory_u16(m, pe + 20);
	if (!has_metadata(m, &image, root_va)) {
		/* What is not there in one need not be missing in the other. */
		m->err = 0;
		image.is_flat = true;
		if (!has_metadata(m, &image, root_va))
			return false;
	}
	*ret_image = image;
	return true;
}

/* Images begin with a page. Where the runtime does not say where, it is looked for from its metadata on, back. */
static bool find_image(struct memory *m, u64 base_va, u64 root_va, struct image *ret_image)
{
	u64 page_va = root_va & ~(u64)(MEMORY_PAGE - 1);

	if (base_va)
		return open_image(m, base_va, 0, ret_image);
	for (u64 back = 0; back <= SEARCH_BYTES_MAX && back < page_va; back += MEMORY_PAGE) {
		if (back / MEMORY_PAGE % SEARCH_PAGES == 0) {
			u64 vas[SEARCH_PAGES];

			for (u64 i = 0; i < SEARCH_PAGES; i++)
				vas[i] = page_va - back - i * MEMORY_PAGE;
			lang_expect(m->process, vas, SEARCH_PAGES);
		}
		if (memory_u16(m, page_va - back) == MZ) {
			if (open_image(m, page_va - back, root_va, ret_image))
				return true;
			m->err = 0;
		}
		if (memory_err(m))
			return false;
	}
	return false;
}

static const char *base_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/' || *path == '\\')
			name = path + 1;
	return name;
}

/* The debug directory: the PDB's name and id. Less than 0 if there is none, or one of another kind. */
static int find_pdb(struct memory *m, const struct image *image, struct clr_file *file)
{
	u32 rva = memory_u32(m, image->directories_va + 8 * PE_DEBUG_DIRECTORY);
	u32 count = memory_u32(m, image->directories_va + 8 * PE_DEBUG_DIRECTORY + 4) / DEBUG_ENTRY_BYTES;
	u64 at = image_va(m, image, rva);
	bool is_embedded = false;
	char path[CLR_FILE_PATH_MAX] = "";

	for (u32 i = 0; at && i < count && i < DEBUG_ENTRIES_MAX && !memory_err(m); i++, at += DEBUG_ENTRY_BYTES) {
		u32 type = memory_u32(m, at + 12);
		u64 data = image->base_va + memory_u32(m, at + (image->is_flat ? 24 : 20));

		is_embedded |= type == DEBUG_EMBEDDED;
		if (type != DEBUG_CODE_VIEW || memory_u16(m, at + 10) != PORTABLE || memory_u32(m, data) != RSDS)
			continue;
		memory_read(m, data + 4, file->id, 16);
		memory_read(m, at + 4, file->id + 16, 4);
		memory_text(m, data + 24, path, sizeof(path));
	}
	if (memory_err(m))
		return memory_err(m);
	if (!path[0])
		return -ENODATA;
	if (is_embedded)
		memcpy(path, file->path, strlen(file->path) + 1);
	if (strlen(base_name(path)) >= sizeof(file->pdb))
		return -ENODATA;
	memcpy(file->pdb, base_name(path), strlen(base_name(path)) + 1);
	return file->pdb[0] ? 0 : -ENODATA;
}

/* The path of a module's file, which the runtime keeps in UTF-16; "" if it has none, or a long one. */
static void read_path(struct memory *m, const struct clr_layout *l, u64 module_va, char path[CLR_FILE_PATH_MAX])
{
	u64 at = memory_u64(m, module_va + l->at[CLR_MODULE_PATH]);
	size_t len = 0;
	u32 high = 0;

	path[0] = '\0';
	/* Up to 8: what is loaded (PEAssembly), its image, which begins with its path: a length, and where it is. */
	if (at && !l->path_is_text) {
		at = memory_u64(m, at + 8);
		at = at ? memory_u64(m, at + 0x10) : 0;
	}
	for (u32 i = 0, unit = 1; at && unit && i < CLR_FILE_PATH_MAX && !memory_err(m); i++) {
		unit = memory_u16(m, at + 2ull * i);
		if (unit >= 0xd800 && unit < 0xdc00) {
			high = unit;
			continue;
		}
		if (unit >= 0xdc00 && unit < 0xe000 && high)
			unit = 0x10000 + ((high & 0x3ff) << 10 | (unit & 0x3ff));
		high = 0;
		if (len + 5 > CLR_FILE_PATH_MAX) {
			len = 0;
			break;
		}
		if (unit)
			len += utf8_put(path + len, unit);
	}
	path[memory_err(m) ? 0 : len] = '\0';
}

int clr_file_open(struct memory *m, const struct clr_layout *l, u64 module_va, u64 image_va, u64 metadata_va,
		  struct clr_file **ret_file)
{
	char path[CLR_FILE_PATH_MAX];
	struct clr_file *file;
	struct image image;
	int r;

	if (!image_va && l->at[CLR_MODULE_BASE])
		image_va = memory_u64(m, module_va + l->at[CLR_MODULE_BASE]);
	read_path(m, l, module_va, path);
	if (path[0] != '/' || !find_image(m, image_va, metadata_va, &image))
		return memory_err(m) ? memory_err(m) : -ENODATA;
	file = calloc(1, sizeof(*file) + strlen(path) + 1);
	if (!file)
		return -ENOMEM;
	memcpy(file->path, path, strlen(path) + 1);
	r = find_pdb(m, &image, file);
	if (r < 0) {
		free(file);
		return r;
	}
	*ret_file = file;
	return 0;
}
