/* SPDX-License-Identifier: Apache-2.0 */
/* The way down a flame: of each node its first child and its next sibling, 0 if there is none. */
#ifndef WEB_LINKS_H
#define WEB_LINKS_H

#include "base/types.h"
#include "store/flame.h"

struct links {
	u32 *child, *next;
};

/* -ENOMEM; done in any case. */
int links_init(struct links *links, const struct flame *flame);
void links_done(struct links *links);

/*
 * The node that a path of names leads to: "\x1f" between them, and behind a name "\x1e" and its executable where the
 * name alone would not do. Of several the largest. -ENOENT.
 */
int links_find(const struct links *links, const struct flame *flame, const char *path, u32 *ret_node);

/* Visits all nodes below and with root, each before its children, without recursion. */
struct visitor {
	void (*enter)(void *arg, u32 node);
	void (*leave)(void *arg, u32 node);	/* after its children; may be NULL */
	void *arg;
};
void links_visit(const struct links *links, const struct flame *flame, u32 root, const struct visitor *visitor);

#endif
