// SPDX-License-Identifier: Apache-2.0
#include "web/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/any.h"

#define NAME_CUT 509	/* names of 512 bytes and more are cut, before a character of up to 4 bytes */

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

/* Names that were cut for being long are given as they were cut. */
static bool is_step(const struct flame_frame *frame, struct str name, const struct str *exe)
{
	struct str mine = frame->name;

	if (name.len >= NAME_CUT && mine.len > name.len)
		mine.len = name.len;
	return str_equal(mine, name) && (!exe || str_equal(frame->exe, *exe));
}

static u32 find_child(const struct links *l, const struct flame *flame, u32 node, struct str name,
		      const struct str *exe)
{
	const struct flame_node *nodes = flame_nodes(flame);
	u32 best = 0;

	for (u32 child = l->child[node]; child; child = l->next[child])
		if (is_step(&flame_frames(flame)[nodes[child].frame], name, exe) &&
		    (!best || nodes[child].total > nodes[best].total))
			best = child;
	return best;
}

int links_find(const struct links *l, const struct flame *flame, const char *path, u32 *ret_node)
{
	u32 node = 0;

	while (*path) {
		u32 len = (u32)strcspn(path, "\x1f"), name_len = (u32)strcspn(path, "\x1e\x1f");
		struct str name = { path, name_len }, exe = { path + name_len + 1, len - name_len - 1 };

		node = find_child(l, flame, node, name, name_len < len ? &exe : NULL);
		if (!node)
			return -ENOENT;
		path += len + (path[len] != '\0');
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
