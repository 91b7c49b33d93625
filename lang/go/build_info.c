// SPDX-License-Identifier: Apache-2.0
#include "lang/go/build_info.h"

#include <stdio.h>
#include <string.h>

#include "exe/elf.h"

#define HEADER_BYTES 32
#define FLAGS_AT 15
#define FLAG_INLINE 2		/* the text follows the header, behind a byte with its length */
#define TEXT_MAX 127
#define ALIGN 16

static const char magic[] = "\xff Go buildinf:";

/* The version in what may be a header, with as many bytes left; 0 if it is none. */
static u32 read_header(const u8 *at, u64 left)
{
	char text[TEXT_MAX + 1];
	const char *version;
	u32 bytes, minor;

	if (left <= HEADER_BYTES || memcmp(at, magic, sizeof(magic) - 1) || !(at[FLAGS_AT] & FLAG_INLINE))
		return 0;
	bytes = at[HEADER_BYTES];
	if (bytes > TEXT_MAX || bytes >= left - HEADER_BYTES)
		return 0;
	memcpy(text, at + HEADER_BYTES + 1, bytes);
	text[bytes] = 0;
	/* go1.27.3, go1.28rc1, devel go1.29-abcdef ... */
	version = strstr(text, "go1.");
	return version && sscanf(version, "go1.%3u", &minor) == 1 ? minor : 0;
}

static u32 search(const struct exe *exe, const struct exe_phdr *load)
{
	const u8 *at = load->flags & PF_X ? NULL : exe_bytes(exe, load->fo, load->file_bytes);
	u32 minor = 0;

	for (u64 off = -load->ea & (ALIGN - 1); at && !minor && off < load->file_bytes; off += ALIGN)
		minor = read_header(at + off, load->file_bytes - off);
	return minor;
}

u32 go_build_minor(const struct exe *exe)
{
	struct exe_section section;
	u32 minor = 0;

	if (exe_section_named(exe, ".go.buildinfo", &section) && section.type == SHT_PROGBITS) {
		const u8 *at = exe_bytes(exe, section.fo, section.bytes);

		return at ? read_header(at, section.bytes) : 0;
	}
	for (u32 i = 0; !minor && i < exe->load_count; i++)
		minor = search(exe, &exe->load[i]);
	return minor;
}
