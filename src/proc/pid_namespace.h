/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PID namespace that this process is in. Below the machine's first one,
 * as in a container, only its own processes and those of namespaces below can
 * be looked at, and each has another number than the kernel's own.
 */
#ifndef PROC_PID_NAMESPACE_H
#define PROC_PID_NAMESPACE_H

#include "base/types.h"

struct buf;

#define PID_NAMESPACE_PARTIAL \
	"in a PID namespace only the processes in it are seen; to see all of the machine's, run wick in the host's " \
	"(docker run --pid=host, hostPID: true)"

/* Its inode number; 0 if it is the machine's first, or there are none. */
u32 pid_namespace(void);

/* -ENOTSUP with a sentence in `why` if /proc shows the processes of another namespace. */
int pid_namespace_check_proc(struct buf *why);

#endif
