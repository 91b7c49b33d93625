// SPDX-License-Identifier: Apache-2.0
#include "net/routes.h"

#include <errno.h>

#include "test.h"

static void nothing(void *arg, struct exchange *exchange)
{
}

static struct route_entry *routes;

static void add(const char *method, const char *path)
{
	const struct route route = { .method = method, .path = path, .handle = nothing };

	EQ(routes_add(&routes, NULL, &route), 0);
}

/* The path of the route, or what is allowed there. */
static const char *find(const char *method, const char *path)
{
	static char text[100];
	struct route_entry *entry = NULL;
	struct buf allow;
	int r;

	buf_init(&allow, 100);
	r = routes_find(routes, method, path, &entry, &allow);
	snprintf(text, sizeof(text), "%s", r == 0 ? entry->route.path : r == -EPERM ? allow.data : "nothing");
	buf_done(&allow);
	return text;
}

TEST(routes_find_the_nearest)
{
	add("GET", "/");
	add(NULL, "/a/");
	add("GET", "/a/b/");
	add("POST", "/a/b/c");
	add("DELETE", "/a/b/c");
	STREQ(find("GET", "/"), "/");
	STREQ(find("HEAD", "/"), "/");
	STREQ(find("GET", "/x"), "nothing");
	STREQ(find("PUT", "/a/x"), "/a/");
	STREQ(find("PUT", "/a/"), "/a/");
	STREQ(find("PUT", "/a"), "nothing");
	STREQ(find("GET", "/a/b/x"), "/a/b/");
	STREQ(find("POST", "/a/b/c"), "/a/b/c");
	/* A farther one takes the method. */
	STREQ(find("GET", "/a/b/c"), "/a/b/");
	STREQ(find("PUT", "/a/b/c"), "/a/");
	STREQ(find("POST", "/"), "GET");
	EQ(routes_add(&routes, NULL, &(struct route){ .method = "GET", .path = "/" }), -EEXIST);
	EQ(routes_add(&routes, NULL, &(struct route){ .path = "/a/" }), -EEXIST);
}
