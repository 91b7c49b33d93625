/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary: an ELF file (or the vDSO) that some process has mapped to run
 * code from. All processes that map the same file share one. It keeps the
 * file open, so that its symbols can be read after the process is gone or the
 * file was replaced.
 *
 * Immutable once published, except the atomic count: the tracer makes them,
 * the symbolizer reads them.
 */
#ifndef PROC_BINARY_H
#define PROC_BINARY_H

#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "exe/reader.h"

struct binary {
	atomic_int refs;
	u32 id;			/* in frames; below BINARIES_MAX, never 0, never given twice */
	int fd;			/* the file, or a memfd with a copy of the vDSO; -1 if it could not be opened */
	int root_fd;		/* root (O_PATH) of the process that mapped it, where debug files may lie; or -1 */
	char *path;		/* as the process names it, "[vdso]" for the vDSO */
	struct exe_info info;
	u64 file;		/* file_identity() of it; 0: it was not asked for */
};

/*
 * Which file it is: its inode, owner, size and last change, whatever it claims to be. Containers of one image have the
 * same for its files.
 */
u64 file_identity(int fd);

#define BINARIES_MAX (1u << 20)

/* With one reference and no id yet. Takes over both descriptors, unless it returns NULL: no memory. */
struct binary *binary_new(int fd, int root_fd, const char *path, const struct exe_info *info);
struct binary *binary_ref(struct binary *binary);
void binary_unref(struct binary *binary);
DEFINE_CLEANUP(struct binary *, binary_unref)

/* The last part of the path. */
const char *binary_name(const struct binary *binary);

#endif
