// SPDX-License-Identifier: Apache-2.0
/* How fast call frame information becomes unwind rows, and how large they are: rows FILE... */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "micro.h"

static int compile(const struct exe *exe, struct rows *ret_shape)
{
	struct rows *rows;
	int r = rows_compile(exe, NULL, &rows);

	if (r < 0)
		return r;
	*ret_shape = *rows;
	free(rows);
	return 0;
}

static int measure(const char *path)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *name = strrchr(path, '/');
	struct exe_section section;
	char text[256];
	struct rows shape = { 0 };
	struct micro m;
	int r;

	if (fd < 0)
		return -errno;
	r = exe_map(fd, NULL, &exe);
	if (r < 0)
		return r;
	if (!exe_section_named(exe, ".eh_frame", &section))
		return -ENODATA;
	for (m = micro_start(); r >= 0 && micro_more(&m);)
		r = compile(exe, &shape);
	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "rows of %s, %u KiB", name ? name + 1 : path, shape.bytes / 1024);
	micro_report(&m, text, shape.row_count, "rows", section.bytes);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int r = measure(argv[i]);

		if (r < 0)
			return fprintf(stderr, "%s: %s\n", argv[i], strerror(-r)), 1;
	}
	return 0;
}
