/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/status says of a process. Nobody can hold that up. */
#ifndef PROC_PROCESS_STATUS_H
#define PROC_PROCESS_STATUS_H

#include <sys/types.h>

#include "base/types.h"

struct process_status {
	uid_t real_uid;		/* who has begun it, whatever it has become */
	uid_t uid;		/* whose rights it has; the owner of its directory is root if it may not be dumped */
	u32 inner_pid;		/* as it sees itself, in its own namespace */
};

/* 0, or -errno: -EBADMSG if there is no user in it. */
int process_status_read(u32 pid, struct process_status *ret_status);

#endif
