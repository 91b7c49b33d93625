/* SPDX-License-Identifier: Apache-2.0 */
/* Files below another root than ours: a container's, a process's, a directory of debug files. No state. */
#ifndef PROC_ROOT_FILE_H
#define PROC_ROOT_FILE_H

#include "base/types.h"

/* The root of a process, to open files below: a descriptor or -errno. */
int root_file_root_of(u32 pid);

/* Opens for reading what an O_PATH descriptor leads to. Devices and pipes are not woken or waited for: -EINVAL. */
int root_file_reopen(int path_fd);

/* Opens a regular file below a root, from which neither ".." nor links lead out. Returns a descriptor or -errno. */
int root_file_open(int root_fd, const char *path);

/* As above, but -ENOENT if the last part of the path is a link. */
int root_file_open_nofollow(int root_fd, const char *path);

/* Opens a regular file by a path that begins there, without any link on the way: what would lead out is -errno. */
int root_file_open_beneath(int root_fd, const char *path);

#endif
