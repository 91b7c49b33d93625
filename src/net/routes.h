/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which handler a request goes to. Entries belong to the loop, but their
 * counts are under the server's route_lock: work threads enter and leave
 * them, and who takes a route away waits for them.
 */
#ifndef NET_ROUTES_H
#define NET_ROUTES_H

#include <stdbool.h>

#include "net/core.h"
#include "net/server.h"

struct route_entry {
	struct route_entry *next;
	struct route route;
	const struct listener *listener;
	/* Under route_lock. */
	u32 refs;			/* of the table, and of exchanges */
	u32 open;			/* exchanges that are not replied to */
	u32 running;			/* handlers */
	bool closed;			/* no handler is called any more */
};

/* In front of *routes. -EEXIST: somebody has that path and method; -ENOMEM. */
int routes_add(struct route_entry **routes, const struct listener *listener, const struct route *route);

/*
 * An exact path wins over the longest that the path is below. GET means HEAD
 * too. -ENOENT; -EPERM: the path is there, but for other methods, which allow
 * gets.
 */
int routes_find(struct route_entry *routes, const char *method, const char *path, struct route_entry **ret_entry,
		struct buf *allow);

/* Takes those of a listener with this arg out, into *ret_taken. */
void routes_take(struct route_entry **routes, const struct listener *listener, const void *arg,
		 struct route_entry **ret_taken);

/* Waits until none of a list has an exchange open (-ETIMEDOUT at the deadline); or a handler running. */
int routes_wait_open(struct server *server, const struct route_entry *routes, u64 deadline_ns);
void routes_close(struct server *server, struct route_entry *routes);

/* Lets go of a list that was taken. */
void routes_drop(struct server *server, struct route_entry *routes);

/* An exchange comes, is replied to, is freed. */
void route_enter(struct server *server, struct route_entry *entry);
void route_leave(struct server *server, struct route_entry *entry);
void route_unref(struct server *server, struct route_entry *entry);

/* Calls the handler; false: the route is closed, the exchange is still the caller's. */
bool route_handle(struct server *server, struct route_entry *entry, struct exchange *exchange);

#endif
