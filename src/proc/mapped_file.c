// SPDX-License-Identifier: Apache-2.0
#include "proc/mapped_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/offload.h"
#include "proc/maps.h"
#include "proc/peek.h"
#include "proc/root_file.h"

struct open_call {
	struct offload_call call;
	struct mapping mapping;
	struct mapped_file file;
	char path[];
};

void mapped_file_closep(struct mapped_file *file)
{
	closep(&file->fd);
	closep(&file->root_fd);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int open_regular(int dir_fd, const char *path, u64 resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	_cleanup_(closep) int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : root_file_reopen(fd);
}

/* The device is not compared: what the kernel tells of a mapping is the file below an overlay, stat() the overlay's. */
static bool same_file(const struct mapping *m, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == m->inode;
}

/* The kernel's own link to the mapped file, which also leads to deleted ones. */
static int open_link(u32 pid, const struct mapping *m)
{
	char path[96], start[32];
	_cleanup_(closedirp) DIR *dir = NULL;
	struct dirent *entry;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, m->start_va, m->end_va);
	fd = open_regular(AT_FDCWD, path, 0);
	if (fd != -ENOENT)
		return fd;
	/* The kernel maps a program whose first segment holds code at its whole length at first, and tells of that. */
	snprintf(path, sizeof(path), "/proc/%u/map_files", pid);
	snprintf(start, sizeof(start), "%llx-", m->start_va);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, start, strlen(start)))
			return open_regular(dirfd(dir), entry->d_name, 0);
	return -ENOENT;
}

/* By its link, else by its name, if that is the same file. */
static int open_mapping(u32 pid, const struct mapping *m)
{
	_cleanup_(closep) int root_fd = -1;
	int fd = open_link(pid, m);

	if (fd >= 0 || fd == -EINVAL)
		return fd;
	root_fd = root_file_root_of(pid);
	/* A process that is gone had, more often than not, the root that we have. */
	fd = open_regular(root_fd < 0 ? AT_FDCWD : root_fd, m->path,
			  root_fd < 0 ? 0 : RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || same_file(m, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

/* The root directory of a process, if it is not ours: debug files may lie below it. */
static int open_foreign_root(u32 pid)
{
	struct stat theirs, ours;
	int fd = root_file_root_of(pid);

	if (fd < 0)
		return -1;
	if (fstat(fd, &theirs) == 0 && stat("/", &ours) == 0 && theirs.st_dev == ours.st_dev &&
	    theirs.st_ino == ours.st_ino) {
		close(fd);
		return -1;
	}
	return fd;
}

static int run(struct offload_call *call)
{
	struct open_call *o = (struct open_call *)call;

	o->file.fd = open_mapping(call->pid, &o->mapping);
	if (o->file.fd < 0)
		return o->file.fd;
	o->file.root_fd = open_foreign_root(call->pid);
	return 0;
}

static void drop(struct offload_call *call)
{
	mapped_file_closep(&((struct open_call *)call)->file);
}

int mapped_file_open(struct peek *peek, u32 pid, const struct mapping *m, struct mapped_file *ret_file)
{
	size_t path_bytes = strlen(m->path) + 1;
	struct open_call *o = malloc(sizeof(*o) + path_bytes);
	int r;

	if (!o)
		return -ENOMEM;
	*o = (struct open_call){ { peek_device(m->dev_major, m->dev_minor), run, drop, pid }, *m, { -1, -1 } };
	memcpy(o->path, m->path, path_bytes);
	o->mapping.path = o->path;
	r = peek_run(peek, &o->call);
	if (r == -ETIMEDOUT)
		return r;
	if (r == 0)
		*ret_file = o->file;
	free(o);
	return r;
}
