// SPDX-License-Identifier: Apache-2.0
#include "exe/inlines.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "exe/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u64 ea[] = { 0, 0x1000, 0x4000b1, 0x4000b8, 0x4000c0, 0x401000, ~0ull };
	_cleanup_(inlines_freep) struct inlines *inlines = inlines_new(NULL);
	_cleanup_(freep) struct exe_lines *lines = NULL;
	_cleanup_(closep) int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!inlines || fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (inlines_find(inlines, fd, -1, -1, ea, sizeof(ea) / sizeof(ea[0]), 1000000000, &lines) == 0 &&
	    exe_lines_check(lines, lines->bytes) < 0)
		abort();
	return 0;
}
