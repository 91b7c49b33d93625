// SPDX-License-Identifier: Apache-2.0
/* Files that are gone on with may hold anything: what is left of them, and what is written behind, is whole. */
#include "exporters/filewriter.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"

#define RECORD_MAX 200

static void check_frames(int fd, off_t end)
{
	for (off_t at = 0; at < end;) {
		uint8_t length[4];

		if (pread(fd, length, 4, at) != 4)
			abort();
		at += 4 + ((off_t)length[0] << 24 | length[1] << 16 | length[2] << 8 | length[3]);
		if (at > end)
			abort();
	}
}

static void try(const uint8_t *data, size_t size, bool lines)
{
	const struct filewriter_options options = { .lines = lines, .append = true, .record_max = RECORD_MAX };
	struct filewriter *writer = NULL;
	int fd = memfd_create("filewriter", MFD_CLOEXEC);
	char path[32], last = 0;
	struct buf why;
	off_t end;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) != (ssize_t)size)
		abort();
	buf_init(&why, 256);
	if (filewriter_open(path, &options, &writer, &why) == 0) {
		if (filewriter_write(writer, "record", 6, 0) < 0)
			abort();
		end = lseek(fd, 0, SEEK_END);
		if (!lines)
			check_frames(fd, end);
		else if (size && (pread(fd, &last, 1, end - 8) != 1 || last != '\n'))
			abort();
	}
	filewriter_free(writer);
	buf_done(&why);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try(data, size, false);
	try(data, size, true);
	return 0;
}
