// SPDX-License-Identifier: Apache-2.0
#include "proc/root_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Where openat2() is not allowed (some containers' filters), links are not followed at all. */
static int open_by_parts(int root_fd, const char *path)
{
	_cleanup_(closep) int dir = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	char part[256];

	while (dir >= 0) {
		size_t len;
		int next;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (!len || len >= sizeof(part))
			return -ENOENT;
		memcpy(part, path, len);
		part[len] = '\0';
		if (!strcmp(part, ".."))
			return -ENOENT;
		path += len;
		next = openat(dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		if (!*path)
			return next;
		close(dir);
		dir = next;
	}
	return -errno;
}

static int open_path(int root_fd, const char *path, u64 flags, u64 resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	return errno == ENOSYS || errno == EPERM ? open_by_parts(root_fd, path) : -errno;
}

int root_file_root_of(u32 pid)
{
	char path[32];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int root_file_reopen(int path_fd)
{
	char path[64];
	struct stat st;
	int fd;

	/* Opening a device or a FIFO has effects of its own; so look first, by a descriptor that does not open. */
	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_regular(int root_fd, const char *path, u64 flags, u64 resolve)
{
	_cleanup_(closep) int place = open_path(root_fd, path, flags, resolve);
	int fd = place < 0 ? place : root_file_reopen(place);

	return fd == -EINVAL ? -ENOENT : fd;
}

int root_file_open(int root_fd, const char *path)
{
	return open_regular(root_fd, path, 0, RESOLVE_IN_ROOT);
}

int root_file_open_nofollow(int root_fd, const char *path)
{
	return open_regular(root_fd, path, O_NOFOLLOW, RESOLVE_IN_ROOT);
}

int root_file_open_beneath(int root_fd, const char *path)
{
	return open_regular(root_fd, path, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}
