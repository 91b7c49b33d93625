/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separate debug files. A stripped program's symbols may lie under
 * /usr/lib/debug by build id, or where its .gnu_debuglink says, in the root
 * directory of the process that runs it (a container's) or in the host's; what
 * dwz moved into a file shared by several programs, in yet another one.
 *
 * A name is only a hint: a file counts if its build id is the same, or, where
 * the program has none, its checksum. Containers are foreign ground: no link
 * leads out of a root, and only regular files are opened.
 *
 * Any thread may call it.
 */
#ifndef SYMBOL_DEBUGFILE_H
#define SYMBOL_DEBUGFILE_H

#include <stdbool.h>

#include "exe/reader.h"

struct binary;

/* The file found, to be closed by the caller; fd is -1 if there is none. */
struct debugfile {
	int fd;
	struct exe_info info;
	char path[1024];	/* within the root that it was found in */
	int root_fd;		/* that root, borrowed */
};

/* What debugfile_find() asks for. */
struct debugfile_want {
	const struct exe_info *info;	/* of the program */
	const char *path;		/* of the program, as its process names it */
	int fd;				/* the program, which is not its own debug file; or -1 */
};

/* Looks in each root in turn (O_PATH descriptors; -1 is skipped). 0 or -ENOENT. */
int debugfile_find(struct reader *reader, const struct debugfile_want *want, const int *root_fds, u32 root_count,
		   struct debugfile *ret_file);

/*
 * The file that .gnu_debugaltlink in info names; path is where the file lies that says so. Returns a descriptor or
 * -ENOENT.
 */
int debugfile_find_alt(struct reader *reader, const struct exe_info *info, const char *path, const int *root_fds,
		       u32 root_count);

#endif
