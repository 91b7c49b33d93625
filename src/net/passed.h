/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets that listen already when this process starts: whoever started it has opened them (socket activation). An
 * endpoint whose address is that of one of them gets a duplicate instead of a socket of its own, each time that it is
 * opened; the socket itself stays open as long as this list, so that nobody is refused between a reload and the next.
 *
 * Filled before there are threads. Then one thread takes; others may only ask what it has.
 */
#ifndef NET_PASSED_H
#define NET_PASSED_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/systemd.h"
#include "base/types.h"

struct passed_socket {
	int fd;
	socklen_t bytes;
	struct sockaddr_storage address;
	bool is_taken;			/* some endpoint has its address */
	char name[SYSTEMD_NAME_MAX];	/* as the unit calls it; may be "" */
};

struct passed {
	u32 count;
	struct passed_socket at[SYSTEMD_SOCKETS_MAX];
};

/*
 * Takes over a descriptor, whatever becomes of it, and moves it to low_fd or above. -ENOTSOCK, -EPROTOTYPE: no stream
 * socket of TCP or of a path that listens; -EMFILE: there are too many.
 */
int passed_add(struct passed *passed, int fd, int low_fd, const char *name);
void passed_done(struct passed *passed);

/* A duplicate of the one with this address; -ENOENT: there is none. passed may be NULL. */
int passed_take(struct passed *passed, const void *address, socklen_t bytes);

/* Whether it has the socket of a path: the file is not ours to remove. passed may be NULL. */
bool passed_has_path(const struct passed *passed, const char *path);

#endif
