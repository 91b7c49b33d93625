// SPDX-License-Identifier: Apache-2.0
#include "tracer/packed_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kinds/kind.h"
#include "lang/lang.h"
#include "test.h"

static bool gives_elf(const void *(*object)(size_t *ret_bytes))
{
	_cleanup_(freep) void *elf = NULL;
	size_t bytes = 0, elf_bytes = 0;
	const void *packed = object(&bytes);

	return packed_object_unpack(packed, bytes, &elf, &elf_bytes) == 0 && elf_bytes > 64 &&
	       !memcmp(elf, "\177ELF", 4);
}

TEST(packed_objects_of_all_kinds_and_languages_are_elf_files)
{
	u32 seen = 0;

	for (u32 i = 0; i < KIND_MAX; i++)
		if (kind_list[i] && kind_list[i]->object) {
			OK(gives_elf(kind_list[i]->object));
			seen++;
		}
	for (u32 i = 0; i < LANG_MAX; i++)
		if (lang_list[i] && lang_list[i]->object) {
			OK(gives_elf(lang_list[i]->object));
			seen++;
		}
	OK(seen >= 10);
}

TEST(packed_object_that_is_cut_or_damaged_is_refused)
{
	_cleanup_(freep) void *elf = NULL;
	_cleanup_(freep) u8 *copy = NULL;
	size_t bytes, elf_bytes;
	const void *packed = kind_list[KIND_CPU]->object(&bytes);

	EQ(packed_object_unpack(packed, 0, &elf, &elf_bytes), -EBADMSG);
	OK(packed_object_unpack(packed, bytes - 1, &elf, &elf_bytes) < 0);
	OK(packed_object_unpack(packed, bytes / 2, &elf, &elf_bytes) < 0);
	copy = malloc(bytes);
	memcpy(copy, packed, bytes);
	copy[bytes / 2] ^= 0x55;
	EQ(packed_object_unpack(copy, bytes, &elf, &elf_bytes), -EBADMSG);
	OK(!elf);
}
