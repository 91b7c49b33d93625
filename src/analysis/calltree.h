/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks merged from their roots: who calls whom, and what it costs. The one
 * tree under reports, flame graphs, the page and files, whether it is made
 * from a profile (analysis/frames.h), the store's rows or a server's answer.
 *
 * Parents stand before their children; node 0 is the root, whose frame, 0, is
 * empty. A tree owns its frames and their texts.
 */
#ifndef ANALYSIS_CALLTREE_H
#define ANALYSIS_CALLTREE_H

#include "analysis/frame.h"
#include "base/cleanup.h"

struct calltree_node {
	u32 parent, frame;
	s64 self, total;
};

struct calltree {
	struct arena arena;
	struct table frames, nodes;	/* of struct frame, struct calltree_node */
	u32 *child, *next;		/* of each node, 0 if there is none; calltree_link() makes them */
	s64 *base;			/* of each node the total in a tree that it is compared with; NULL: none */
	u64 cut_count;			/* frames left out, since there were too many nodes */
	struct str unit, period;	/* of the values; "" if they differ */
	bool is_coarse;			/* the range was wider than asked, since only roll-ups are left of it */
	u64 from_ns, to_ns;		/* what it really covers */
};

struct calltree *calltree_new(void);
struct calltree *calltree_new_max(u32 nodes_max);
void calltree_free(struct calltree *tree);
DEFINE_CLEANUP(struct calltree *, calltree_free)

/* An empty one with the heading of another: unit, period, range. NULL without memory. */
struct calltree *calltree_new_like(const struct calltree *other);

/* What a function without a name is called, by where it is: "libfoo.so+0x1230", which the tree owns. */
struct str calltree_place_name(struct calltree *tree, struct str exe, u64 address);

static inline const struct calltree_node *calltree_nodes(const struct calltree *tree)
{
	return tree->nodes.rows;
}

static inline const struct frame *calltree_frames(const struct calltree *tree)
{
	return tree->frames.rows;
}

static inline const struct frame *calltree_frame_of(const struct calltree *tree, u32 node)
{
	return &calltree_frames(tree)[calltree_nodes(tree)[node].frame];
}

/* The number of a frame or node, added if it is new; strings are copied. -ENOMEM, -E2BIG. */
s64 calltree_frame(struct calltree *tree, const struct frame *frame);
s64 calltree_node(struct calltree *tree, u32 parent, u32 frame);

/* The same for a node that is known to be new. */
s64 calltree_append(struct calltree *tree, u32 parent, u32 frame);
void calltree_count(struct calltree *tree, u32 node, s64 value);

/* What was counted so far, so many times. */
void calltree_multiply(struct calltree *tree, s64 factor);

/* Sums up: total is what a node and those below it have. */
void calltree_sum(struct calltree *tree);

/* Adds to both, where totals are known. */
void calltree_add(struct calltree *tree, u32 node, s64 self, s64 total);

/* Instead of that, where nodes are left out: it has all itself until calltree_count() takes away what they have. */
void calltree_set_total(struct calltree *tree, u32 node, s64 total);

/* ---- The way down ---- */

enum calltree_order { CALLTREE_AS_ADDED, CALLTREE_BY_TOTAL /* largest first */, CALLTREE_BY_NAME };

/* Links children in that order, once the tree is whole. -ENOMEM. */
int calltree_link(struct calltree *tree, enum calltree_order order);

/* The node after one, each before its children, but not its own unless `down`; 0 if no more are below root. */
u32 calltree_next(const struct calltree *tree, u32 root, u32 node, bool down);

/* Visits all nodes below and with root, each before its children, without recursion. */
struct calltree_visitor {
	void (*enter)(void *arg, u32 node);
	void (*leave)(void *arg, u32 node);	/* after its children */
	void *arg;
};
void calltree_visit(const struct calltree *tree, u32 root, const struct calltree_visitor *visitor);

/*
 * The node that a path of names leads to: "\x1f" between them, and behind a name "\x1e" and its file (frame_home())
 * where the name alone would not do. Of several the largest. -ENOENT.
 */
int calltree_find(const struct calltree *tree, const char *path, u32 *ret_node);

#endif
