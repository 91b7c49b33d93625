/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a summary merged from their roots: who calls whom, and what
 * it costs. By process or thread the first level is theirs.
 *
 * Borrows the summary (for names) and so the profile. At most max_nodes
 * nodes; what a longer path would add stays in its last node and is counted.
 */
#ifndef PROFILE_CALLTREE_H
#define PROFILE_CALLTREE_H

#include "base/cleanup.h"
#include "base/types.h"

struct profile;
struct summary;
struct summary_row;

#define CALLTREE_NODES_MAX (4u << 20)
#define CALLTREE_NONE ((u32)-1)

struct calltree_node {
	const struct summary_row *row;	/* the name; its sums are not this node's. NULL for the root */
	u32 parent;			/* CALLTREE_NONE for the root */
	u32 child, sibling;		/* first child, next sibling, largest total first; CALLTREE_NONE ends */
	s64 self, total;
};

struct calltree {
	struct calltree_node *nodes;	/* nodes[0] is the root */
	u32 count;
	u64 cut_count;			/* frames left out by max_nodes */
};

int calltree_new(const struct profile *profile, const struct summary *summary, u32 max_nodes,
		 struct calltree **ret_tree);
void calltree_free(struct calltree *tree);
DEFINE_CLEANUP(struct calltree *, calltree_free)

#endif
