// SPDX-License-Identifier: Apache-2.0
#include "analysis/narrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calltree.h"
#include "analysis/matcher.h"
#include "base/array.h"
#include "base/buf.h"

/* Bits of a frame's mark, those of the focuses first; and of a node's. */
#define FOCUS(i) (1u << (i))
#define IGNORED (1u << NARROW_FOCUS_MAX)
#define HIDDEN (2u << NARROW_FOCUS_MAX)
#define COUNTED (4u << NARROW_FOCUS_MAX)	/* what it has itself stays */
#define KEPT (8u << NARROW_FOCUS_MAX)		/* it is on the way to one that counts */
const char *const narrow_rule_names[] = {
#define X(id, text) text,
	NARROW_RULES(X)
#undef X
};

_Static_assert(KEPT <= 0x8000, "marks have 16 bits");

int narrow_add(struct narrow *n, enum narrow_rule rule, const char *text, struct buf *why)
{
	u32 max = rule == NARROW_FOCUS ? NARROW_FOCUS_MAX : NARROW_TEXTS_MAX;

	n->focus_count += rule == NARROW_FOCUS;
	if (n->count == NARROW_TEXTS_MAX || n->focus_count > NARROW_FOCUS_MAX) {
		buf_addf(why, "%s can be given at most %u times", narrow_rule_names[rule], max);
		return -EINVAL;
	}
	n->texts[n->count].rule = rule;
	n->texts[n->count++].text = text;
	return 0;
}

bool narrow_any(const struct narrow *n)
{
	return n->count || n->collapse;
}

int narrow_mark(const struct narrow *n, const struct calltree *tree, u16 *marks, struct buf *why)
{
	u32 focus = 0;
	int r = 0;

	for (u32 i = 0; i < n->count && r == 0; i++) {
		u32 bit = n->texts[i].rule == NARROW_FOCUS ? FOCUS(focus++) :
			  n->texts[i].rule == NARROW_IGNORE ? IGNORED : HIDDEN;

		r = matcher_mark(n->texts[i].text, tree, (u16)bit, marks, why);
	}
	return r;
}

bool narrow_leaves(const struct narrow *n, u16 marks)
{
	u32 wanted = FOCUS(n->focus_count) - 1;

	return (marks & wanted) == wanted && !(marks & IGNORED);
}

/* A stack is what stands from the root to a node: it has a function if any of these frames is marked with it. */
static void mark_nodes(const struct narrow *n, const struct calltree *tree, const u16 *marks, u16 *path)
{
	const struct calltree_node *nodes = calltree_nodes(tree);
	u32 count = tree->nodes.count;

	for (u32 i = 0; i < count; i++) {
		path[i] = (u16)(marks[nodes[i].frame] | (i ? path[nodes[i].parent] : 0)) & (u16)~COUNTED;
		if (nodes[i].self && narrow_leaves(n, path[i]))
			path[i] |= COUNTED;
	}
	for (u32 i = count; i-- > 1;)
		if (path[i] & (COUNTED | KEPT)) {
			path[i] |= KEPT;
			path[nodes[i].parent] |= KEPT;
		}
}

struct copy {
	const struct narrow *narrow;
	const struct calltree *from;
	struct calltree *into;
	u16 *marks, *path;	/* by frame; by node */
	u32 *frame;		/* of from in into, + 1; 0: not there yet */
	u32 *node;		/* the same of nodes; of one that is taken out: where its values go */
};

static int copy_init(struct copy *c, const struct narrow *narrow, const struct calltree *from)
{
	size_t frames = (size_t)from->frames.count + 1, nodes = (size_t)from->nodes.count + 1;

	*c = (struct copy){ .narrow = narrow, .from = from, .into = calltree_new_like(from) };
	c->marks = array_calloc(frames, sizeof(*c->marks));
	c->frame = array_calloc(frames, sizeof(*c->frame));
	c->path = array_calloc(nodes, sizeof(*c->path));
	c->node = array_calloc(nodes, sizeof(*c->node));
	return c->into && c->marks && c->frame && c->path && c->node ? 0 : -ENOMEM;
}

static void copy_done(struct copy *c)
{
	calltree_free(c->into);
	free(c->marks);
	free(c->frame);
	free(c->path);
	free(c->node);
}

/* Its number, or 0, which is the root's, if it is taken out. */
static s64 copy_frame(struct copy *c, u32 frame)
{
	if (!c->frame[frame]) {
		struct frame shaped = calltree_frames(c->from)[frame];
		bool stays = !(c->marks[frame] & HIDDEN) && (!c->narrow->shape || c->narrow->shape(&shaped));
		s64 number = stays ? calltree_frame(c->into, &shaped) : 0;

		if (number < 0)
			return number;
		c->frame[frame] = (u32)number + 1;
	}
	return c->frame[frame] - 1;
}

static s64 copy_node(struct copy *c, u32 i)
{
	const struct calltree_node *n = &calltree_nodes(c->from)[i];
	u32 parent = c->node[n->parent];
	s64 frame;

	frame = i ? copy_frame(c, n->frame) : 0;
	if (frame <= 0)
		return frame < 0 ? frame : parent;
	if (c->narrow->collapse &&
	    frame_same_function(calltree_frame_of(c->into, parent), &calltree_frames(c->into)[frame]))
		return parent;
	return calltree_node(c->into, parent, (u32)frame);
}

static int copy_nodes(struct copy *c)
{
	for (u32 i = 0; i < c->from->nodes.count; i++) {
		s64 node;

		if (i && !(c->path[i] & KEPT))
			continue;
		node = copy_node(c, i);
		if (node < 0)
			return (int)node;
		c->node[i] = (u32)node;
		if (c->path[i] & COUNTED)
			calltree_count(c->into, (u32)node, calltree_nodes(c->from)[i].self);
	}
	return 0;
}

/* What is left of where nodes went, for who asks where values did. */
static u32 *take_map(struct copy *c)
{
	for (u32 i = 0; i < c->from->nodes.count; i++)
		c->node[i] = c->path[i] & COUNTED ? c->node[i] + 1 : 0;
	return TAKE(c->node);
}

bool narrow_keeps_leaves(const struct narrow *n)
{
	bool hides = false;

	for (u32 i = 0; i < n->count; i++)
		hides |= n->texts[i].rule == NARROW_HIDE;
	return !hides && !n->collapse && !n->shape;
}

int narrow_calltree(const struct narrow *n, struct calltree **tree, struct buf *why)
{
	_cleanup_(freep) u32 *map = NULL;

	return narrow_calltree_map(n, tree, &map, why);
}

int narrow_calltree_map(const struct narrow *n, struct calltree **tree, u32 **ret_map, struct buf *why)
{
	_cleanup_(copy_done) struct copy c = { 0 };
	int r;

	if (!narrow_any(n))
		return 0;
	r = copy_init(&c, n, *tree);
	if (r == 0)
		r = narrow_mark(n, *tree, c.marks, why);
	if (r < 0)
		return r;
	mark_nodes(n, *tree, c.marks, c.path);
	r = copy_nodes(&c);
	if (r < 0)
		return r;
	calltree_sum(c.into);
	*ret_map = take_map(&c);
	calltree_free(*tree);
	*tree = TAKE(c.into);
	return 0;
}

int narrow_find(const struct calltree *tree, const char *text, struct narrow_found *ret_found, struct buf *why)
{
	const struct calltree_node *nodes = calltree_nodes(tree);
	_cleanup_(freep) u16 *marks = array_calloc((size_t)tree->frames.count + 1, sizeof(*marks));
	_cleanup_(freep) bool *below = array_calloc((size_t)tree->nodes.count + 1, sizeof(*below));
	struct narrow_found found = { 0 };
	int r = marks && below ? matcher_mark(text, tree, 1, marks, why) : -ENOMEM;

	if (r < 0)
		return r;
	for (u32 i = 1; i < tree->nodes.count; i++) {
		below[i] = below[nodes[i].parent];
		if (!marks[nodes[i].frame])
			continue;
		found.nodes++;
		found.total += below[i] ? 0 : nodes[i].total;
		below[i] = true;
	}
	*ret_found = found;
	return 0;
}
