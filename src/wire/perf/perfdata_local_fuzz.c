// SPDX-License-Identifier: Apache-2.0
/* A file that a profile names, with anything in it: its build id is 4 bytes of the input's end. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "wire/perf/perfdata_local.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(closep) int fd = memfd_create("perfdata-local", MFD_CLOEXEC);
	struct perfdata_local local = { 0 };
	char path[64];

	if (fd < 0 || size < 4 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)perfdata_local_find(path, data + size - 4, 4, &local);
	for (u64 fo = 0; fo < size; fo += 1 + size / 16) {
		u64 start = perfdata_local_function(&local, path, fo);

		if (start > fo)
			__builtin_trap();
	}
	perfdata_local_done(&local);
	return 0;
}
