// SPDX-License-Identifier: Apache-2.0
#include "proc/pid_namespace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define FIRST_INODE 0xEFFFFFFCu	/* PROC_PID_INIT_INO (include/linux/proc_ns.h) */

u32 pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == FIRST_INODE)
		return 0;
	return (u32)st.st_ino;
}

int pid_namespace_check_proc(struct buf *why)
{
	char text[32];
	ssize_t bytes = readlink("/proc/self", text, sizeof(text) - 1);

	if (bytes > 0) {
		text[bytes] = '\0';
		if (strtol(text, NULL, 10) == getpid())
			return 0;
	}
	buf_addf(why, "/proc is not that of wick's PID namespace; mount one there (mount -t proc proc /proc), or run "
		      "wick in the host's (docker run --pid=host, hostPID: true)");
	return -ENOTSUP;
}
