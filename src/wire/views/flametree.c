// SPDX-License-Identifier: Apache-2.0
#include "wire/views/flametree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"

/* ---- Growing ------------------------------------------------------------------------- */

static u64 node_hash(const void *row, u64 seed)
{
	const struct flametree_node *node = row;

	return hash_mix(seed, (u64)node->parent << 32 | node->frame);
}

static bool node_equal(const void *a, const void *b)
{
	const struct flametree_node *x = a, *y = b;

	/* The root is no child of itself. */
	return x->parent == y->parent && x->frame == y->frame && !x->depth == !y->depth;
}

static const struct table_type node_type = { sizeof(struct flametree_node), node_hash, node_equal, NULL };

static int add_stack(void *context, struct indices path, s64 weight)
{
	struct flametree *tree = context;
	struct flametree_node *nodes = tree->nodes.rows;
	s64 node = 0;

	nodes[0].total = saturating_add(nodes[0].total, weight);
	for (u32 i = 0; i < path.count; i++) {
		struct flametree_node key = { .parent = (u32)node, .frame = path.at[i], .depth = i + 1 };

		node = table_add(&tree->nodes, &key);
		if (node < 0)
			return (int)node;
		nodes = tree->nodes.rows;
		nodes[node].total = saturating_add(nodes[node].total, weight);
	}
	nodes[node].self = saturating_add(nodes[node].self, weight);
	return 0;
}

/* ---- Order --------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right, void *context)
{
	const struct flametree *tree = context;
	u32 a = *(const u32 *)left, b = *(const u32 *)right;
	struct str x = tree->frames.at[flametree_nodes(tree)[a].frame].name;
	struct str y = tree->frames.at[flametree_nodes(tree)[b].frame].name;
	int r = memcmp(x.at, y.at, x.len < y.len ? x.len : y.len);

	if (!r)
		r = (x.len > y.len) - (x.len < y.len);
	return r ? r : (a > b) - (a < b);
}

/* Sorted once over all nodes; linking from the last name on leaves every list in order. */
static int link_children(struct flametree *tree)
{
	struct flametree_node *nodes = tree->nodes.rows;
	_cleanup_(freep) u32 *order = calloc(tree->nodes.count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (u32 i = 1; i < tree->nodes.count; i++)
		order[i] = i;
	qsort_r(order + 1, tree->nodes.count - 1, sizeof(*order), compare_names, tree);
	for (u32 i = tree->nodes.count; i-- > 1;) {
		u32 *first = &nodes[nodes[order[i]].parent].child;

		nodes[order[i]].next = *first;
		*first = order[i];
	}
	return 0;
}

int flametree_init(struct flametree *tree, const struct profile *profile)
{
	int r;

	*tree = (struct flametree){ 0 };
	table_init(&tree->nodes, &node_type, NULL, profile_seed(profile), FLAMETREE_NODES_MAX);
	r = frames_init(&tree->frames, profile);
	if (r == 0)
		r = summary_new(profile, &(struct summary_options){ .by = SUMMARY_PROCESS }, &tree->summary);
	if (r == 0)
		r = (int)table_add(&tree->nodes, &(struct flametree_node){ 0 });
	if (r == 0)
		r = frames_each(&tree->frames, tree->summary, add_stack, tree);
	return r < 0 ? r : link_children(tree);
}

void flametree_done(struct flametree *tree)
{
	frames_done(&tree->frames);
	summary_free(tree->summary);
	table_done(&tree->nodes);
}

/* ---- Numbers ------------------------------------------------------------------------- */

void flametree_amount(const struct flametree *tree, s64 value, struct buf *out)
{
	static const struct {
		double size;
		const char *name;
	} times[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } },
	  bytes[] = { { 1 << 30, "GiB" }, { 1 << 20, "MiB" }, { 1 << 10, "KiB" }, { 1, "bytes" } };
	u32 unit = 0;

	if (tree->summary->unit == UNIT_COUNT) {
		buf_addf(out, "%lld %.*s", value, (int)tree->summary->type.len, tree->summary->type.at);
		return;
	}
	if (tree->summary->unit == UNIT_BYTES) {
		while (unit < 3 && (double)value < bytes[unit].size)
			unit++;
		buf_addf(out, "%.4g %s", (double)value / bytes[unit].size, bytes[unit].name);
		return;
	}
	while (unit < 3 && (double)value < times[unit].size)
		unit++;
	buf_addf(out, "%.4g %s", (double)value / times[unit].size, times[unit].name);
}
