// SPDX-License-Identifier: Apache-2.0
#include "base/private_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/types.h"

#define FLAGS (O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

static int __attribute__((format(printf, 2, 3))) refuse(struct buf *why, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (why)
		buf_addf(why, "%s", text);
	return -EPERM;
}

static bool is_empty(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	u32 entries = 0;

	if (!dir) {
		closep(&fd);
		return false;
	}
	while (entries <= 2 && readdir(dir))
		entries++;
	closedir(dir);
	return entries <= 2;
}

int private_dir_tighten(int fd, const char *path, struct buf *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!(st.st_mode & 077))
		return 0;
	if (fchmod(fd, 0700) < 0)
		return -errno;
	if (!(st.st_mode & 022) || is_empty(fd))
		return 0;
	(void)fchmod(fd, st.st_mode & 07777);
	return refuse(why, "%.200s is writable by others (mode %04o), so that what is in it may be anybody's; look at "
		      "it, then chmod 700 it, or choose another directory", path, st.st_mode & 07777);
}

static int refuse_owner(const struct stat *st, const char *path, struct buf *why)
{
	return refuse(why, "%.200s belongs to user %u, not to %u, whom wick runs as", path, st->st_uid, geteuid());
}

int private_dir_open(int at_fd, const char *path, struct buf *why)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int r;

	if (mkdirat(at_fd, path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == EACCES && fstatat(at_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid())
		return refuse_owner(&st, path, why);
	if (fd < 0 && errno == ENOTDIR && why)
		buf_addf(why, "%.200s is a symbolic link, or no directory; name the directory itself", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return refuse_owner(&st, path, why);
	r = private_dir_tighten(fd, path, why);
	if (r == 0) {
		r = fd;
		fd = -1;
	}
	return r;
}

int private_file_check(int dir_fd, const char *name, bool is_made, struct buf *why)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;

	fd = openat(dir_fd, name, FLAGS);
	if (fd < 0 && errno == ENOENT && is_made)
		fd = openat(dir_fd, name, FLAGS | O_CREAT | O_EXCL, 0600);
	if (fd < 0 && errno == ELOOP)
		return refuse(why, "%.200s is a symbolic link: somebody else may have put it there; remove it", name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return refuse(why, "%.200s is no regular file with one name; remove it", name);
	if (st.st_uid != geteuid())
		return refuse(why, "%.200s belongs to user %u, not to %u, whom wick runs as; remove it", name,
			      st.st_uid, geteuid());
	return st.st_mode & 077 && fchmod(fd, 0600) < 0 ? -errno : 0;
}
