/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the files that processes have mapped, without trusting names, and without waiting for whoever serves them. */
#ifndef PROC_MAPPED_FILE_H
#define PROC_MAPPED_FILE_H

#include "base/types.h"

struct mapping;
struct peek;

struct mapped_file {
	int fd;		/* for reading; -1: none */
	int root_fd;	/* the root directory of the process, if it is not ours; -1 if it is */
};

/* 0, or -errno: -EINVAL if it is no regular file, -ESTALE if another one has its name. */
int mapped_file_open(struct peek *peek, u32 pid, const struct mapping *mapping, struct mapped_file *ret_file);

/* For _cleanup_(). */
void mapped_file_closep(struct mapped_file *file);

#endif
