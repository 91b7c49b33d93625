// SPDX-License-Identifier: Apache-2.0
#include "proc/vdso.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define VDSO_BYTES_MAX (64u << 10)

int vdso_open(void)
{
	const char *at = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = 0, page = (size_t)getpagesize();
	int fd;

	if (!at)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* write() ends with EFAULT where the mapping does. */
	while (bytes < VDSO_BYTES_MAX && write(fd, at + bytes, page) == (ssize_t)page)
		bytes += page;
	return fd;
}
