/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What systemd tells a service by environment variables (sd_notify(3), sd_listen_fds(3), systemd.exec(5)), read
 * without its library. Anybody can set them: each is bounded and checked as a whole, and what is none of it counts as
 * not given. Pure functions; NULL is a variable that is not set.
 */
#ifndef BASE_SYSTEMD_H
#define BASE_SYSTEMD_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/types.h"

#define SYSTEMD_FIRST_FD 3
#define SYSTEMD_SOCKETS_MAX 16
#define SYSTEMD_NAME_MAX 64
#define SYSTEMD_WATCHDOG_MIN_NS 100000000ull		/* more often nobody shows that he is alive */
#define SYSTEMD_WATCHDOG_MAX_NS (86400ull * 1000000000)

/* $NOTIFY_SOCKET: a path, or @name of an abstract socket. -ENOENT: not set; -EINVAL: neither. */
int systemd_notify_address(const char *text, struct sockaddr_un *ret_address, socklen_t *ret_bytes);

/* $WATCHDOG_USEC, where $WATCHDOG_PID is this process or not set, within the limits above. 0: nobody watches. */
u64 systemd_watchdog_ns(const char *usec, const char *pid, pid_t self);

/* Descriptors from SYSTEMD_FIRST_FD on, and what they are called ("" where that is not said, or nothing to show). */
struct systemd_sockets {
	u32 count;
	u32 left_out;	/* past the most that are taken */
	char names[SYSTEMD_SOCKETS_MAX][SYSTEMD_NAME_MAX];
};

/* $LISTEN_FDS, $LISTEN_FDNAMES, where $LISTEN_PID is this process. Their number is 0 where there are none. */
void systemd_listen_fds(const char *fds, const char *pid, const char *names, pid_t self,
			struct systemd_sockets *ret_sockets);

/* $JOURNAL_STREAM: whether the descriptor leads into the journal. */
bool systemd_is_journal(const char *stream, int fd);

#endif
