// SPDX-License-Identifier: Apache-2.0
#include "cmd/targets.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

void targets_init(struct targets *targets, const struct option_numbers *pids)
{
	*targets = (struct targets){ .count = pids->count };
	for (u32 i = 0; i < pids->count; i++) {
		targets->fds[i] = (int)syscall(SYS_pidfd_open, (pid_t)pids->at[i], 0);
		/* ESRCH: it has ended already. Anything else: a thread, or no room for one more file. */
		if (targets->fds[i] < 0 && errno != ESRCH)
			targets->is_unknown = true;
	}
}

void targets_done(struct targets *targets)
{
	for (u32 i = 0; i < targets->count; i++)
		closep(&targets->fds[i]);
	targets->count = 0;
}

bool targets_ended(struct targets *targets)
{
	bool all = targets->count && !targets->is_unknown;

	for (u32 i = 0; i < targets->count; i++) {
		struct pollfd pollfd = { .fd = targets->fds[i], .events = POLLIN };

		if (targets->fds[i] < 0)
			continue;
		if (poll(&pollfd, 1, 0) == 1) {
			closep(&targets->fds[i]);
			targets->fds[i] = -1;
		} else {
			all = false;
		}
	}
	return all;
}
