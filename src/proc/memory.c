// SPDX-License-Identifier: Apache-2.0
#include "proc/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* /proc/meminfo has 1.5 KiB; MemTotal is its first line. */
#define TEXT_BYTES 4096

/* A small file as text: its length or -errno. */
__attribute__((format(printf, 2, 3)))
static ssize_t read_text(char text[TEXT_BYTES], const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (len >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return io_read_text(path, text, TEXT_BYTES);
}

int memory_taken(const char *root, u64 *ret_bytes)
{
	unsigned long long size, resident, shared;
	char text[TEXT_BYTES];
	ssize_t n = read_text(text, "%s/proc/self/statm", root);

	if (n < 0)
		return (int)n;
	if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3)
		return -EBADMSG;
	*ret_bytes = (resident > shared ? resident - shared : 0) * (u64)sysconf(_SC_PAGESIZE);
	return 0;
}

/* The limit in a file of a control group; it is left as it is if there is none ("max"), or it is more. */
__attribute__((format(printf, 2, 3)))
static void lower(u64 *limit, const char *format, ...)
{
	unsigned long long bytes;
	char path[PATH_MAX], text[TEXT_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (len < (int)sizeof(path) && read_text(text, "%s", path) > 0 && sscanf(text, "%llu", &bytes) == 1 &&
	    bytes && bytes < *limit)
		*limit = bytes;
}

/* The line of /proc/self/cgroup with that in it ends with a path: of its group, and all above that. */
static void lower_by_path(const char *root, const char *line, const char *folder, const char *file, u64 *limit)
{
	char text[TEXT_BYTES], *path, *end;

	path = read_text(text, "%s/proc/self/cgroup", root) < 0 ? NULL : strstr(text, line);
	if (!path)
		return;
	path += strlen(line) - 1;
	path[strcspn(path, "\n")] = '\0';
	for (end = path + strlen(path); end > path; end = strrchr(path, '/')) {
		*end = '\0';
		lower(limit, "%s/sys/fs/cgroup%s%s/%s", root, folder, path, file);
	}
}

/* The group of this process and all above it; in a container its own group is the root of what can be seen. */
static void lower_by_groups(const char *root, u64 *limit)
{
	lower(limit, "%s/sys/fs/cgroup/memory/memory.limit_in_bytes", root);
	lower(limit, "%s/sys/fs/cgroup/memory.max", root);
	lower_by_path(root, "0::/", "", "memory.max", limit);
	lower_by_path(root, ":memory:/", "/memory", "memory.limit_in_bytes", limit);
}

int memory_allowed(const char *root, u64 *ret_bytes)
{
	unsigned long long kib;
	char text[TEXT_BYTES];
	ssize_t n = read_text(text, "%s/proc/meminfo", root);

	if (n < 0)
		return (int)n;
	if (sscanf(text, "MemTotal: %llu", &kib) != 1 || kib > ULLONG_MAX / 1024)
		return -EBADMSG;
	*ret_bytes = kib * 1024;
	lower_by_groups(root, ret_bytes);
	return 0;
}

void memory_fit_heap(void)
{
	u64 allowed;

	if (memory_allowed("", &allowed) < 0 || allowed >= MEMORY_SMALL_BYTES)
		return;
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 10);
}
