// SPDX-License-Identifier: Apache-2.0
#include "symbol/kernel_id.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTES_MAX 4096

/* Length of the build id among ELF notes; each is a header, a name and a text, both padded to 4 bytes. */
static int find_build_id(const u8 *notes, size_t len, u8 ret_id[BUILD_ID_MAX])
{
	Elf64_Nhdr note;

	for (size_t at = 0; len - at >= sizeof(note);) {
		size_t name, text, end;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		text = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		end = text + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (end > len)
			return -ENODATA;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
		    note.n_descsz && note.n_descsz <= BUILD_ID_MAX) {
			memcpy(ret_id, notes + text, note.n_descsz);
			return (int)note.n_descsz;
		}
		at = end;
	}
	return -ENODATA;
}

int kernel_build_id(const char *sysfs, const char *module, u8 ret_id[BUILD_ID_MAX])
{
	_cleanup_(closep) int fd = -1;
	u8 notes[NOTES_MAX];
	char path[512];
	ssize_t len;
	int n;

	if (!strcmp(module, "vmlinux"))
		n = snprintf(path, sizeof(path), "%s/kernel/notes", sysfs);
	else
		n = snprintf(path, sizeof(path), "%s/module/%s/notes/.note.gnu.build-id", sysfs, module);
	if (n < 0 || (size_t)n >= sizeof(path) || strchr(module, '/'))
		return -ENODATA;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENODATA;
	len = read(fd, notes, sizeof(notes));
	return len < 0 ? -ENODATA : find_build_id(notes, (size_t)len, ret_id);
}
