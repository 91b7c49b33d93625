// SPDX-License-Identifier: Apache-2.0
#include "profile/calltree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "base/saturate.h"
#include "profile/profile.h"
#include "profile/summary.h"

/* While the tree grows, a node is found by its parent and its name. */
struct builder {
	struct calltree *tree;
	u32 max_nodes, cap;
	struct hash_index index;	/* of nodes, by parent and row */
};

void calltree_free(struct calltree *tree)
{
	if (tree)
		free(tree->nodes);
	free(tree);
}

static u32 node_hash(u32 parent, const struct summary_row *row)
{
	u64 key = ((u64)parent << 32) ^ (uintptr_t)row;

	key ^= key >> 29;
	key *= 0xbf58476d1ce4e5b9ull;
	return (u32)(key >> 32);
}

/* The child of a node with that name, made if need be; the parent itself once the tree is full. */
static int builder_child(struct builder *b, u32 parent, const struct summary_row *row, u32 *ret_node)
{
	struct calltree *tree = b->tree;
	int r = array_grow(&tree->nodes, &b->cap, tree->count, UINT32_MAX, sizeof(*tree->nodes));
	u32 hash = node_hash(parent, row);
	u64 *slot;

	if (r == 0)
		r = hash_index_reserve(&b->index, tree->count + 1);
	if (r < 0)
		return r;
	slot = hash_index_first(&b->index, hash);
	for (; *slot; slot = hash_index_next(&b->index, hash, slot)) {
		const struct calltree_node *node = &tree->nodes[hash_index_number(*slot)];

		if (node->parent == parent && node->row == row) {
			*ret_node = hash_index_number(*slot);
			return 0;
		}
	}
	if (tree->count >= b->max_nodes) {
		tree->cut_count++;
		*ret_node = CALLTREE_NONE;
		return 0;
	}
	tree->nodes[tree->count] = (struct calltree_node){
		.row = row, .parent = parent, .child = CALLTREE_NONE, .sibling = CALLTREE_NONE
	};
	*ret_node = tree->count++;
	hash_index_put(slot, hash, *ret_node);
	return 0;
}

struct path {
	struct builder *builder;
	u32 node;
	s64 value;
	bool cut;	/* the tree is full: stay */
};

static int path_enter(struct path *path, const struct summary_row *row)
{
	struct calltree_node *n;
	u32 node;
	int r;

	if (path->cut) {
		path->builder->tree->cut_count++;
		return 0;
	}
	r = builder_child(path->builder, path->node, row, &node);
	if (r < 0)
		return r;
	path->cut = node == CALLTREE_NONE;
	if (path->cut)
		return 0;
	path->node = node;
	n = &path->builder->tree->nodes[node];
	n->total = saturating_add(n->total, path->value);
	return 0;
}

/* From the root: last location first, and in each the outermost function first. */
static int add_stack(struct path *path, const struct summary *summary, struct indices stack)
{
	u32 count;
	const struct summary_row *rows = summary_frame_rows(summary, &count);

	for (u32 i = stack.count; i-- > 0;) {
		struct indices frames = summary_frames(summary, stack.at[i]);

		for (u32 j = frames.count; j-- > 0;) {
			int r = path_enter(path, &rows[frames.at[j]]);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int add_cells(struct builder *b, const struct profile *profile, const struct summary *summary)
{
	u32 cell_count, group_count;
	const struct summary_cell *cells = summary_cells(summary, &cell_count);
	const struct summary_row *groups = summary_group_rows(summary, &group_count);

	for (u32 i = 0; i < cell_count; i++) {
		struct path path = { .builder = b, .value = cells[i].value };
		struct calltree_node *root = &b->tree->nodes[0], *leaf;
		int r = 0;

		root->total = saturating_add(root->total, path.value);
		if (group_count)
			r = path_enter(&path, &groups[cells[i].group]);
		if (r == 0)
			r = add_stack(&path, summary, profile->stacks.at[cells[i].stack]);
		if (r < 0)
			return r;
		leaf = &b->tree->nodes[path.node];
		leaf->self = saturating_add(leaf->self, path.value);
	}
	return 0;
}

static int compare_totals(const void *left, const void *right, void *context)
{
	const struct calltree_node *nodes = context;
	u32 a = *(const u32 *)left, b = *(const u32 *)right;

	if (nodes[a].total != nodes[b].total)
		return nodes[a].total < nodes[b].total ? 1 : -1;
	return (a > b) - (a < b);
}

/* Sorted once over all nodes; linking from the smallest on leaves every list largest first. */
static int link_children(struct calltree *tree)
{
	_cleanup_(freep) u32 *order = calloc(tree->count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (u32 i = 0; i < tree->count; i++)
		order[i] = i;
	qsort_r(order, tree->count, sizeof(*order), compare_totals, tree->nodes);
	for (u32 i = tree->count; i-- > 0;) {
		struct calltree_node *node = &tree->nodes[order[i]];

		if (node->parent == CALLTREE_NONE)
			continue;
		node->sibling = tree->nodes[node->parent].child;
		tree->nodes[node->parent].child = order[i];
	}
	return 0;
}

int calltree_new(const struct profile *profile, const struct summary *summary, u32 max_nodes,
		 struct calltree **ret_tree)
{
	_cleanup_(calltree_freep) struct calltree *tree = calloc(1, sizeof(*tree));
	struct builder b = { .tree = tree, .max_nodes = max_nodes };
	u32 root;
	int r;

	if (!tree)
		return -ENOMEM;
	r = builder_child(&b, CALLTREE_NONE, NULL, &root);
	if (r == 0)
		r = add_cells(&b, profile, summary);
	hash_index_done(&b.index);
	if (r < 0)
		return r;
	r = link_children(tree);
	if (r < 0)
		return r;
	*ret_tree = TAKE(tree);
	return 0;
}
