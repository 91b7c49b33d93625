/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: which files this process and its children may use from now on, beside what their user may. Rules name files
 * and directories with all that is in them; what no rule names cannot be opened, made, renamed or deleted. What is open
 * stays open, and stat() is free. A kernel that has it also keeps signals, abstract sockets and ptrace of
 * such a process to itself and its children.
 *
 * A rule belongs to the file that was there when it was made: what takes its place by rename() is another. By raw
 * system calls, with the rights that the kernel knows (since 5.13): its header is newer than some hosts.
 */
#ifndef BASE_LANDLOCK_H
#define BASE_LANDLOCK_H

#include "base/types.h"

enum landlock_use {
	LANDLOCK_READ,		/* read files, list directories */
	LANDLOCK_RUN,		/* … and run them */
	LANDLOCK_WRITE,		/* read, and make, write, rename and delete */
};

/* The version that the kernel has; 0: none. */
int landlock_abi(void);

/* A set of rules, as a descriptor. -EOPNOTSUPP: the kernel has none. */
int landlock_begin(void);

/* Of an open descriptor (O_PATH will do), with all that is below it. */
int landlock_allow(int rules_fd, int fd, enum landlock_use use);

/* For good, for this thread and what it starts; no_new_privs is set. */
int landlock_enforce(int rules_fd);

#endif
