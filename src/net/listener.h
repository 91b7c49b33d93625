/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints that are listened on, and who shares them. A struct listener is
 * one membership: server_listen() makes it, listener_leave() ends it. The
 * sockets belong to the endpoint, which lives as long as it has members or
 * connections.
 *
 * All of it belongs to the loop's thread; the public functions reach it by
 * loop_call().
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include <stdbool.h>

#include "net/connection.h"
#include "net/core.h"
#include "net/routes.h"
#include "net/server.h"
#include "net/tls.h"

#define ENDPOINT_SOCKETS 2		/* 127.0.0.1 and ::1 */

struct accepting {
	struct loop_fd fd;
	struct endpoint *endpoint;
};

struct listener {
	struct listener *next;
	struct endpoint *endpoint;
	struct tls *tls;		/* NULL: none */
	struct connection_limits limits;
	char **hosts;			/* further names it may be asked by */
	u32 host_count;
};

struct endpoint {
	struct endpoint *next;
	struct server *server;
	char *name;			/* as it was asked for */
	bool unix_socket;
	char address[128];		/* as it came to be */
	struct accepting sockets[ENDPOINT_SOCKETS];
	struct listener *listeners;	/* the last to join first */
	struct route_entry *routes;
	struct connection *connections;
	struct loop_timer timer;	/* to accept again; to look at TLS files */
	u64 accept_at_ns, reload_at_ns;
	bool left;			/* somebody has: what no route takes may have been theirs */
	u32 pins;			/* held in memory while its connections are walked */
};

/* Numbers for a new connection: those of the first that joined. */
void endpoint_limits(const struct endpoint *endpoint, struct connection_limits *ret_limits);

/* The last one may be the end of the endpoint. */
void endpoint_connection_gone(struct endpoint *endpoint);

/* An endpoint without sockets, for fuzzing. */
int endpoint_new(struct server *server, const char *name, struct endpoint **ret_endpoint);

/* Every connection and listener, at once. */
void endpoint_free(struct endpoint *endpoint);

#endif
