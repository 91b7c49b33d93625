// SPDX-License-Identifier: Apache-2.0
#include "exe/identify.h"

#include <string.h>

#include "base/sha256.h"
#include "exe/elf.h"
#include "exe/lang_tables.h"
#include "exe/reader.h"

#define NT_GO_BUILD_ID 4
#define HTLHASH_PART 4096

/* Notes looked at in one file: thousands of headers may name the same bytes. */
#define NOTES_MAX 4096

struct identify {
	const struct exe *exe;
	struct exe_info *info;
	u32 note_count;
};

/* A build id of another length would not fit, nor would the kernel report it. */
static bool build_id_fits(size_t bytes)
{
	return bytes > 0 && bytes <= BUILD_ID_MAX;
}

static void read_notes(struct identify *id, const u8 *at, size_t bytes, u64 align)
{
	struct exe_info *info = id->info;
	struct exe_notes notes;
	struct exe_note note;

	exe_notes_init(&notes, at, bytes, align);
	while (id->note_count < NOTES_MAX && exe_notes_next(&notes, &note)) {
		id->note_count++;
		if (exe_note_is(&note, "GNU", NT_GNU_BUILD_ID) && !info->build_id_bytes &&
		    build_id_fits(note.desc_bytes)) {
			memcpy(info->build_id, note.desc, note.desc_bytes);
			info->build_id_bytes = note.desc_bytes;
		} else if (note.type == NT_GO_BUILD_ID && note.name_bytes == 4 && !memcmp(note.name, "Go\0\0", 4) &&
			   !info->go_build_id[0] && note.desc_bytes < sizeof(info->go_build_id)) {
			memcpy(info->go_build_id, note.desc, note.desc_bytes);
			info->go_build_id[note.desc_bytes] = 0;
		}
	}
}

/* The path and what comes behind its NUL; returns that, or NULL if the path is malformed. */
static const u8 *read_link(const struct exe_data *data, char *ret_path, size_t max, size_t *ret_rest)
{
	const u8 *nul = data->bytes ? memchr(data->at, 0, data->bytes < max ? data->bytes : max) : NULL;
	size_t len = nul ? (size_t)(nul - data->at) : 0;

	if (!len)
		return NULL;
	memcpy(ret_path, data->at, len + 1);
	*ret_rest = data->bytes - len - 1;
	return nul + 1;
}

static void read_debuglink(struct exe_info *info, const struct exe_data *data)
{
	size_t rest, crc_at;

	if (!read_link(data, info->debuglink, sizeof(info->debuglink), &rest))
		return;
	crc_at = (data->bytes - rest + 3) & ~3ul;
	if (crc_at + 4 <= data->bytes)
		memcpy(&info->debuglink_crc, data->at + crc_at, 4);
	else
		info->debuglink[0] = 0;
}

static void read_altlink(struct exe_info *info, const struct exe_data *data)
{
	size_t rest;
	const u8 *id = read_link(data, info->altlink, sizeof(info->altlink), &rest);

	if (id && build_id_fits(rest)) {
		memcpy(info->altlink_id, id, rest);
		info->altlink_id_bytes = rest;
	} else {
		info->altlink[0] = 0;
	}
}

static void read_section(struct identify *id, const struct exe_section *section)
{
	struct exe_info *info = id->info;
	struct exe_data data;

	/* Links and notes are never compressed. */
	if (exe_section_data(id->exe, section, 0, &data) < 0) {
		info->has_debug_info |= section->type == SHT_PROGBITS && section->flags & SHF_COMPRESSED &&
					!strcmp(section->name, ".debug_info");
		return;
	}
	if (section->type == SHT_NOTE)
		read_notes(id, data.at, data.bytes, 4);
	else if (section->type == SHT_SYMTAB)
		info->has_symtab = 1;
	else if (!strcmp(section->name, ".gnu_debuglink"))
		read_debuglink(info, &data);
	else if (!strcmp(section->name, ".gnu_debugaltlink"))
		read_altlink(info, &data);
	else if (!strcmp(section->name, ".debug_info"))
		info->has_debug_info = 1;
	else if (!strcmp(section->name, ".gnu_debugdata"))
		info->has_gnu_debugdata = 1;
	exe_data_done(&data);
}

static void read_phdr(struct identify *id, const struct exe_phdr *phdr)
{
	struct exe_info *info = id->info;

	if (phdr->type == PT_NOTE)
		read_notes(id, exe_bytes(id->exe, phdr->fo, phdr->file_bytes), phdr->file_bytes, phdr->align);
	if (phdr->type == PT_LOAD && phdr->flags & PF_X && info->segment_count < SEGMENTS_MAX)
		info->segment[info->segment_count++] =
			(struct exe_segment){ .file_offset = phdr->fo, .ea = phdr->ea, .bytes = phdr->mem_bytes };
}

/* SHA-256 of head, tail and length, as OpenTelemetry's process.executable.build_id.htlhash; parts may overlap. */
static void hash_file(const struct exe *exe, u8 ret_hash[16])
{
	size_t part = exe->bytes < HTLHASH_PART ? exe->bytes : HTLHASH_PART;
	u64 length = __builtin_bswap64(exe->bytes);
	u8 digest[SHA256_BYTES];
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, exe->at, part);
	sha256_add(&sha, exe->at + exe->bytes - part, part);
	sha256_add(&sha, &length, sizeof(length));
	sha256_end(&sha, digest);
	memcpy(ret_hash, digest, 16);
}

void exe_identify(const struct exe *exe, struct exe_info *ret_info)
{
	struct identify id = { .exe = exe, .info = ret_info };
	struct lang_tables tables = { 0 };
	struct exe_section section;
	struct exe_phdr phdr;

	*ret_info = (struct exe_info){ .elf_class = exe->elf_class, .machine = exe->machine, .type = exe->type };
	/* PT_NOTE first, since that is where the kernel finds the build id. */
	for (u32 i = 0; exe_phdr(exe, i, &phdr); i++)
		read_phdr(&id, &phdr);
	for (u32 i = 1; exe_section(exe, i, &section); i++)
		read_section(&id, &section);
	ret_info->has_lang_tables = lang_tables_open(exe, &tables) == 0;
	lang_tables_done(&tables);
	hash_file(exe, ret_info->htlhash);
}
