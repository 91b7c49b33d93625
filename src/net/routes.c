// SPDX-License-Identifier: Apache-2.0
#include "net/routes.h"

#include <errno.h>
#include <string.h>

#include "base/deadline.h"
#include "base/lock.h"

static bool same_method(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

int routes_add(struct route_entry **routes, const struct listener *listener, const struct route *route)
{
	struct route_entry *entry;

	for (entry = *routes; entry; entry = entry->next)
		if (!strcmp(entry->route.path, route->path) && same_method(entry->route.method, route->method))
			return -EEXIST;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	*entry = (struct route_entry){ *routes, *route, listener, .refs = 1 };
	*routes = entry;
	return 0;
}

/* How much of the path it names, 0 if it is another. An exact one counts more than any below which the path is. */
static size_t match_path(const char *route, const char *path)
{
	size_t len = strlen(route);

	if (!strcmp(route, path))
		return SIZE_MAX;
	return len > 1 && route[len - 1] == '/' && !strncmp(route, path, len) ? len : 0;
}

static bool match_method(const char *route, const char *method)
{
	return !route || !strcmp(route, method) || (!strcmp(method, "HEAD") && !strcmp(route, "GET"));
}

int routes_find(struct route_entry *routes, const char *method, const char *path, struct route_entry **ret_entry,
		struct buf *allow)
{
	struct route_entry *best = NULL;
	size_t best_match = 0, nearest = 0;

	for (struct route_entry *entry = routes; entry; entry = entry->next) {
		size_t match = match_path(entry->route.path, path);

		nearest = match > nearest ? match : nearest;
		if (match <= best_match || !match_method(entry->route.method, method))
			continue;
		best = entry;
		best_match = match;
	}
	if (best) {
		*ret_entry = best;
		return 0;
	}
	for (struct route_entry *entry = routes; entry && nearest; entry = entry->next)
		if (match_path(entry->route.path, path) == nearest)
			buf_addf(allow, "%s%s", allow->len ? ", " : "", entry->route.method);
	return nearest ? -EPERM : -ENOENT;
}

void routes_take(struct route_entry **routes, const struct listener *listener, const void *arg,
		 struct route_entry **ret_taken)
{
	*ret_taken = NULL;
	while (*routes) {
		struct route_entry *entry = *routes;

		if (entry->listener != listener || entry->route.arg != arg) {
			routes = &entry->next;
			continue;
		}
		*routes = entry->next;
		entry->next = *ret_taken;
		*ret_taken = entry;
	}
}

/* ---- What is under way ----------------------------------------------------------- */

int routes_wait_open(struct server *server, const struct route_entry *routes, u64 deadline_ns)
{
	int r = 0;

	LOCKED(&server->route_lock);
	for (const struct route_entry *entry = routes; entry && r == 0; entry = entry->next)
		while (entry->open && r == 0)
			r = cond_wait_until(&server->route_quiet, &server->route_lock, deadline_ns);
	return r;
}

void routes_close(struct server *server, struct route_entry *routes)
{
	LOCKED(&server->route_lock);
	for (struct route_entry *entry = routes; entry; entry = entry->next) {
		entry->closed = true;
		while (entry->running)
			pthread_cond_wait(&server->route_quiet, &server->route_lock);
	}
}

void route_unref(struct server *server, struct route_entry *entry)
{
	bool last;

	pthread_mutex_lock(&server->route_lock);
	last = !--entry->refs;
	pthread_mutex_unlock(&server->route_lock);
	if (last)
		free(entry);
}

void routes_drop(struct server *server, struct route_entry *routes)
{
	struct route_entry *next;

	for (; routes; routes = next) {
		next = routes->next;
		route_unref(server, routes);
	}
}

void route_enter(struct server *server, struct route_entry *entry)
{
	LOCKED(&server->route_lock);
	entry->refs++;
	entry->open++;
}

void route_leave(struct server *server, struct route_entry *entry)
{
	LOCKED(&server->route_lock);
	if (!--entry->open)
		pthread_cond_broadcast(&server->route_quiet);
}

bool route_handle(struct server *server, struct route_entry *entry, struct exchange *exchange)
{
	bool open;

	pthread_mutex_lock(&server->route_lock);
	open = !entry->closed;
	entry->running += open;
	entry->refs += open;		/* the exchange, and what it counts, may be gone when the handler returns */
	pthread_mutex_unlock(&server->route_lock);
	if (!open)
		return false;
	entry->route.handle(entry->route.arg, exchange);
	pthread_mutex_lock(&server->route_lock);
	if (!--entry->running)
		pthread_cond_broadcast(&server->route_quiet);
	pthread_mutex_unlock(&server->route_lock);
	route_unref(server, entry);
	return true;
}
