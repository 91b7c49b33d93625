// SPDX-License-Identifier: Apache-2.0
#include "analysis/calltree.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"

#define FRAMES_MAX (16u << 20)
#define NODES_MAX (64u << 20)
#define BYTES_MAX ((size_t)2 << 30)
#define NAME_CUT 509	/* names of 512 bytes and more are cut, before a character of up to 4 bytes */

static u64 node_hash(const void *row, u64 seed)
{
	const struct calltree_node *n = row;

	return hash_mix(seed, (u64)n->parent << 32 | n->frame);
}

static bool node_equal(const void *a, const void *b)
{
	const struct calltree_node *x = a, *y = b;

	return x->parent == y->parent && x->frame == y->frame;
}

static const struct table_type node_type = { sizeof(struct calltree_node), node_hash, node_equal, NULL };

struct calltree *calltree_new_max(u32 nodes_max)
{
	_cleanup_(calltree_freep) struct calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	arena_init(&tree->arena, BYTES_MAX);
	table_init(&tree->frames, &frame_table_type, &tree->arena, 0, FRAMES_MAX);
	table_init(&tree->nodes, &node_type, NULL, 0, nodes_max);
	tree->unit.at = tree->period.at = "";
	if (calltree_frame(tree, &(struct frame){ 0 }) < 0 || calltree_node(tree, 0, 0) < 0)
		return NULL;
	return TAKE(tree);
}

struct calltree *calltree_new(void)
{
	return calltree_new_max(NODES_MAX);
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	table_done(&tree->frames);
	table_done(&tree->nodes);
	free(tree->child);
	free(tree->next);
	free(tree->base);
	arena_done(&tree->arena);
	free(tree);
}

static int own_str(struct calltree *tree, struct str *s)
{
	s->at = s->len ? arena_copy(&tree->arena, s->at, s->len) : "";
	return s->at ? 0 : -ENOMEM;
}

struct calltree *calltree_new_like(const struct calltree *other)
{
	_cleanup_(calltree_freep) struct calltree *tree = calltree_new();

	if (!tree)
		return NULL;
	tree->unit = other->unit;
	tree->period = other->period;
	tree->is_coarse = other->is_coarse;
	tree->from_ns = other->from_ns;
	tree->to_ns = other->to_ns;
	return own_str(tree, &tree->unit) < 0 || own_str(tree, &tree->period) < 0 ? NULL : TAKE(tree);
}

struct str calltree_place_name(struct calltree *tree, struct str exe, u64 address)
{
	struct str base = str_base_name(exe);
	char text[300];
	int len = snprintf(text, sizeof(text), "%.*s+0x%llx", (int)(base.len < 255 ? base.len : 255),
			   base.len ? base.at : "", address);
	char *copy = arena_copy(&tree->arena, text, (size_t)len);

	return copy ? (struct str){ copy, (u32)len } : STR("[unknown]");
}

s64 calltree_frame(struct calltree *tree, const struct frame *frame)
{
	return table_add(&tree->frames, frame);
}

s64 calltree_node(struct calltree *tree, u32 parent, u32 frame)
{
	return table_add(&tree->nodes, &(struct calltree_node){ .parent = parent, .frame = frame });
}

s64 calltree_append(struct calltree *tree, u32 parent, u32 frame)
{
	return table_append(&tree->nodes, &(struct calltree_node){ .parent = parent, .frame = frame });
}

static struct calltree_node *node_at(struct calltree *tree, u32 node)
{
	return (struct calltree_node *)tree->nodes.rows + node;
}

void calltree_count(struct calltree *tree, u32 node, s64 value)
{
	node_at(tree, node)->self = saturating_add(node_at(tree, node)->self, value);
}

void calltree_multiply(struct calltree *tree, s64 factor)
{
	for (u32 i = 0; i < tree->nodes.count; i++)
		node_at(tree, i)->self = saturating_multiply(node_at(tree, i)->self, factor);
}

void calltree_sum(struct calltree *tree)
{
	struct calltree_node *nodes = tree->nodes.rows;

	for (u32 i = 0; i < tree->nodes.count; i++)
		nodes[i].total = nodes[i].self;
	for (u32 i = tree->nodes.count; i-- > 1;)
		nodes[nodes[i].parent].total = saturating_add(nodes[nodes[i].parent].total, nodes[i].total);
}

void calltree_add(struct calltree *tree, u32 node, s64 self, s64 total)
{
	calltree_count(tree, node, self);
	node_at(tree, node)->total = saturating_add(node_at(tree, node)->total, total);
}

void calltree_set_total(struct calltree *tree, u32 node, s64 total)
{
	node_at(tree, node)->self = node_at(tree, node)->total = total;
}

/* ---- The way down ------------------------------------------------------------------------ */

static int compare_totals(const void *left, const void *right, void *arg)
{
	const struct calltree_node *nodes = calltree_nodes(arg);
	u32 a = *(const u32 *)left, b = *(const u32 *)right;

	if (nodes[a].total != nodes[b].total)
		return nodes[a].total < nodes[b].total ? 1 : -1;
	return (a > b) - (a < b);
}

static int compare_names(const void *left, const void *right, void *arg)
{
	u32 a = *(const u32 *)left, b = *(const u32 *)right;
	int r = str_compare(calltree_frame_of(arg, a)->name, calltree_frame_of(arg, b)->name);

	return r ? r : (a > b) - (a < b);
}

/* Sorted once over all nodes; linking from the last on leaves every list in order. */
int calltree_link(struct calltree *tree, enum calltree_order by)
{
	const struct calltree_node *nodes = calltree_nodes(tree);
	u32 count = tree->nodes.count;
	_cleanup_(freep) u32 *order = by ? array_calloc((size_t)count, sizeof(*order)) : NULL;

	free(tree->child);
	free(tree->next);
	tree->child = array_calloc((size_t)count + 1, sizeof(*tree->child));
	tree->next = array_calloc((size_t)count + 1, sizeof(*tree->next));
	if (!tree->child || !tree->next || (by && !order))
		return -ENOMEM;
	for (u32 i = 1; i < count && by; i++)
		order[i] = i;
	if (by)
		qsort_r(order + 1, count - 1, sizeof(*order), by == CALLTREE_BY_TOTAL ? compare_totals : compare_names,
			tree);
	for (u32 i = count; i-- > 1;) {
		u32 node = by ? order[i] : i;

		tree->next[node] = tree->child[nodes[node].parent];
		tree->child[nodes[node].parent] = node;
	}
	return 0;
}

u32 calltree_next(const struct calltree *tree, u32 root, u32 node, bool down)
{
	if (down && tree->child[node])
		return tree->child[node];
	while (node != root && !tree->next[node])
		node = calltree_nodes(tree)[node].parent;
	return node == root ? 0 : tree->next[node];
}

void calltree_visit(const struct calltree *tree, u32 root, const struct calltree_visitor *visitor)
{
	u32 node = root;

	for (;;) {
		visitor->enter(visitor->arg, node);
		if (tree->child[node]) {
			node = tree->child[node];
			continue;
		}
		for (;; node = calltree_nodes(tree)[node].parent) {
			visitor->leave(visitor->arg, node);
			if (node == root)
				return;
			if (tree->next[node])
				break;
		}
		node = tree->next[node];
	}
}

/* Names that were cut for being long are given as they were cut. */
static bool is_step(const struct frame *frame, struct str name, const struct str *home)
{
	struct str mine = frame->name;

	if (name.len >= NAME_CUT && mine.len > name.len)
		mine.len = name.len;
	return str_equal(mine, name) && (!home || str_equal(frame_home(frame), *home));
}

static u32 find_child(const struct calltree *tree, u32 node, struct str name, const struct str *home)
{
	const struct calltree_node *nodes = calltree_nodes(tree);
	u32 best = 0;

	for (u32 child = tree->child[node]; child; child = tree->next[child])
		if (is_step(calltree_frame_of(tree, child), name, home) &&
		    (!best || nodes[child].total > nodes[best].total))
			best = child;
	return best;
}

int calltree_find(const struct calltree *tree, const char *path, u32 *ret_node)
{
	u32 node = 0;

	while (*path) {
		u32 len = (u32)strcspn(path, "\x1f"), name_len = (u32)strcspn(path, "\x1e\x1f");
		struct str name = { path, name_len }, home = { path + name_len + 1, len - name_len - 1 };

		node = find_child(tree, node, name, name_len < len ? &home : NULL);
		if (!node)
			return -ENOENT;
		path += len + (path[len] != '\0');
	}
	*ret_node = node;
	return 0;
}
