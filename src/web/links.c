// SPDX-License-Identifier: Apache-2.0
#include "web/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/any.h"

int links_init(struct links *l, const struct flame *flame)
{
	const struct flame_node *nodes = flame_nodes(flame);

	l->child = calloc((size_t)flame->nodes.count + 1, sizeof(*l->child));
	l->next = calloc((size_t)flame->nodes.count + 1, sizeof(*l->next));
	if (!l->child || !l->next)
		return -ENOMEM;
	for (u32 i = flame->nodes.count; i-- > 1;) {
		l->next[i] = l->child[nodes[i].parent];
		l->child[nodes[i].parent] = i;
	}
	return 0;
}

void links_done(struct links *l)
{
	free(l->child);
	free(l->next);
}

int links_find(const struct links *l, const struct flame *flame, const char *path, u32 *ret_node)
{
	u32 node = 0;

	while (*path) {
		struct str name = { path, (u32)strcspn(path, "\x1f") };

		for (node = l->child[node]; node; node = l->next[node])
			if (str_equal(flame_frames(flame)[flame_nodes(flame)[node].frame].name, name))
				break;
		if (!node)
			return -ENOENT;
		path += name.len + (path[name.len] != '\0');
	}
	*ret_node = node;
	return 0;
}

void links_visit(const struct links *l, const struct flame *flame, u32 root, const struct visitor *visitor)
{
	u32 node = root;

	for (;;) {
		visitor->enter(visitor->arg, node);
		if (l->child[node]) {
			node = l->child[node];
			continue;
		}
		for (;; node = flame_nodes(flame)[node].parent) {
			if (visitor->leave)
				visitor->leave(visitor->arg, node);
			if (node == root)
				return;
			if (l->next[node])
				break;
		}
		node = l->next[node];
	}
}
