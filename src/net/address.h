/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints as people write them, and the sockets that listen there. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/types.h"

struct passed;

#define ADDRESS_SOCKETS_MAX 2

/*
 * Sockets that listen on "host:port", ":port" (all addresses), "[::1]:port",
 * or on a path. localhost means 127.0.0.1 and ::1, where there is one. The
 * port is the same for both, also if it was 0. A socket file that nobody
 * answers at is replaced. Sockets that were passed (may be NULL) are taken
 * instead of new ones. How many; -errno with a sentence in `why`.
 */
int address_listen(const char *endpoint, bool unix_socket, struct passed *passed, int fds[ADDRESS_SOCKETS_MAX],
		   struct buf *why);

/* Adds ": process 123 (name) has it" if somebody listens on a port, and this process may see who. */
void address_tell_owner(unsigned port, struct buf *why);

/* Whether it has the form of one, other than a path. */
bool address_is_valid(const char *endpoint);

/* "127.0.0.1:4317", "[::1]:80"; "unix" of a client without a name. */
void address_text(const struct sockaddr_storage *address, socklen_t bytes, char *text, size_t text_bytes);

#endif
