/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a connection: an address, and for one of this machine the user whose socket it is. By a
 * Unix socket the kernel says so; by loopback it is asked for the socket at the other end (sock_diag, else /proc/net).
 * Called once for each connection, by the loop's thread.
 */
#ifndef NET_CALLER_H
#define NET_CALLER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/types.h"

struct caller {
	char text[64];		/* "127.0.0.1:40312" */
	bool is_local;		/* came by loopback, or by a Unix socket */
	bool has_uid;
	uid_t uid;
	u64 key;		/* whom shares are by: the user if it is known, else the address (IPv6: its /64) */
};

void caller_find(int fd, const struct sockaddr_storage *address, socklen_t bytes, struct caller *ret_caller);

/* The user of a line of /proc/net/tcp or tcp6 whose socket goes from that address to that one; for tests. */
bool caller_find_in_table(const char *table, const struct sockaddr_storage *from, const struct sockaddr_storage *to,
			uid_t *ret_uid);

#endif
