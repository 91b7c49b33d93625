/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile's default sample type merged from their roots, for
 * those who draw flame graphs. Parents stand before their children; node 0 is
 * the root and has no frame. Children are linked by name.
 *
 * At most FLAMETREE_NODES_MAX nodes; more are -E2BIG.
 */
#ifndef WIRE_FLAMETREE_H
#define WIRE_FLAMETREE_H

#include "profile/summary.h"
#include "profile/table.h"
#include "wire/views/frames.h"

#define FLAMETREE_NODES_MAX (32u << 20)

struct flametree_node {
	u32 parent, frame;
	u32 child, next;	/* the first child, the next sibling; 0 ends */
	u32 depth;
	s64 self, total;
};

struct flametree {
	struct frames frames;
	struct summary *summary;
	struct table nodes;	/* of struct flametree_node */
};

int flametree_init(struct flametree *tree, const struct profile *profile);
void flametree_done(struct flametree *tree);

static inline const struct flametree_node *flametree_nodes(const struct flametree *tree)
{
	return tree->nodes.rows;
}

/* Adds a value as people read it: "1.25 s", "3 samples", "17 MiB". */
void flametree_amount(const struct flametree *tree, s64 value, struct buf *out);

#endif
