// SPDX-License-Identifier: Apache-2.0
#include "symbol/kernel_id.h"

#include <errno.h>
#include <sys/stat.h>

#include "test.h"

static void put_notes(const char *dir, const void *notes, size_t len)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/kernel", dir);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/kernel/notes", dir);
	file = fopen(path, "w");
	OK(file);
	EQ(fwrite(notes, 1, len, file), len);
	fclose(file);
}

TEST(kernel_build_id_is_found_among_notes)
{
	static const u8 notes[] = {
		6, 0, 0, 0, 3, 0, 0, 0, 1, 1, 0, 0, 'L', 'i', 'n', 'u', 'x', 0, 0, 0, 7, 7, 7, 0,
		4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef,
	};
	char dir[] = "/tmp/wick-sysfs-XXXXXX", path[64];
	u8 id[BUILD_ID_MAX];

	OK(mkdtemp(dir));
	put_notes(dir, notes, sizeof(notes));
	EQ(kernel_build_id(dir, "vmlinux", id), 4);
	EQ(memcmp(id, "\xde\xad\xbe\xef", 4), 0);
	for (size_t len = 0; len < sizeof(notes); len++) {
		put_notes(dir, notes, len);
		EQ(kernel_build_id(dir, "vmlinux", id), -ENODATA);
	}
	EQ(kernel_build_id(dir, "absent", id), -ENODATA);
	EQ(kernel_build_id(dir, "../kernel", id), -ENODATA);
	snprintf(path, sizeof(path), "%s/kernel/notes", dir);
	remove(path);
	snprintf(path, sizeof(path), "%s/kernel", dir);
	remove(path);
	remove(dir);
}
