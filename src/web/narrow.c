// SPDX-License-Identifier: Apache-2.0
#include "web/narrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/any.h"
#include "store/flame.h"
#include "web/matcher.h"
#include "web/question.h"

/* Bits of a frame's mark, those of the focuses first; and of a node's. */
#define FOCUS(i) (1u << (i))
#define IGNORED (1u << NARROW_FOCUS_MAX)
#define HIDDEN (2u << NARROW_FOCUS_MAX)
#define COUNTED (4u << NARROW_FOCUS_MAX)	/* what it has itself stays */
#define KEPT (8u << NARROW_FOCUS_MAX)		/* it is on the way to one that counts */
_Static_assert(KEPT <= 0x8000, "marks have 16 bits");

int narrow_read(struct narrow *n, const struct question *question, struct buf *why)
{
	*n = (struct narrow){ .question = question };
	n->collapse = !strcmp(question_text(question, "collapse", ""), "1");
	n->any = n->collapse;
	for (u32 i = 0; i < question->count; i++) {
		const char *key = question->pairs[i].key;

		n->any |= !strcmp(key, "focus") || !strcmp(key, "ignore") || !strcmp(key, "hide");
		if (strcmp(key, "focus"))
			continue;
		if (n->focus_count == NARROW_FOCUS_MAX) {
			buf_addf(why, "focus can be given at most %d times", NARROW_FOCUS_MAX);
			return -EINVAL;
		}
		n->focus[n->focus_count++] = question->pairs[i].value;
	}
	return 0;
}

static int mark_frames(const struct narrow *n, const struct flame *flame, u16 *marks, struct buf *why)
{
	int r = 0;

	for (u32 i = 0; i < n->focus_count && r == 0; i++)
		r = matcher_mark(n->focus[i], flame, (u16)FOCUS(i), marks, why);
	for (u32 i = 0; i < n->question->count && r == 0; i++) {
		const char *key = n->question->pairs[i].key, *text = n->question->pairs[i].value;

		if (!strcmp(key, "ignore"))
			r = matcher_mark(text, flame, IGNORED, marks, why);
		else if (!strcmp(key, "hide"))
			r = matcher_mark(text, flame, HIDDEN, marks, why);
	}
	return r;
}

/* A stack is what stands from the root to a node: it has a function if any of these frames is marked with it. */
static void mark_nodes(const struct narrow *n, const struct flame *flame, const u16 *marks, u16 *path)
{
	const struct flame_node *nodes = flame_nodes(flame);
	u32 count = flame->nodes.count, wanted = FOCUS(n->focus_count) - 1;

	for (u32 i = 0; i < count; i++) {
		path[i] = (u16)(marks[nodes[i].frame] | (i ? path[nodes[i].parent] : 0)) & (u16)~COUNTED;
		if (nodes[i].self && (path[i] & wanted) == wanted && !(path[i] & IGNORED))
			path[i] |= COUNTED;
	}
	for (u32 i = count; i-- > 1;)
		if (path[i] & (COUNTED | KEPT)) {
			path[i] |= KEPT;
			path[nodes[i].parent] |= KEPT;
		}
}

static bool same_function(const struct flame *flame, u32 a, u32 b)
{
	const struct flame_frame *x = &flame_frames(flame)[a], *y = &flame_frames(flame)[b];

	return a == b || (str_equal(x->name, y->name) && str_equal(x->exe, y->exe));
}

static int own_str(struct flame *flame, struct str *s)
{
	s->at = s->len ? arena_copy(&flame->arena, s->at, s->len) : "";
	return s->at ? 0 : -ENOMEM;
}

static int copy_heading(struct flame *into, const struct flame *from)
{
	into->unit = from->unit;
	into->period = from->period;
	into->is_coarse = from->is_coarse;
	into->from_ns = from->from_ns;
	into->to_ns = from->to_ns;
	return own_str(into, &into->unit) < 0 || own_str(into, &into->period) < 0 ? -ENOMEM : 0;
}

struct copy {
	const struct narrow *narrow;
	const struct flame *from;
	struct flame *into;
	u16 *marks, *path;	/* by frame; by node */
	u32 *frame;		/* of from in into, + 1; 0: not there yet */
	u32 *node;		/* the same of nodes; of one that is taken out: where its values go */
};

static int copy_init(struct copy *c, const struct narrow *narrow, const struct flame *from)
{
	size_t frames = (size_t)from->frames.count + 1, nodes = (size_t)from->nodes.count + 1;

	*c = (struct copy){ .narrow = narrow, .from = from, .into = flame_new() };
	c->marks = calloc(frames, sizeof(*c->marks));
	c->frame = calloc(frames, sizeof(*c->frame));
	c->path = calloc(nodes, sizeof(*c->path));
	c->node = calloc(nodes, sizeof(*c->node));
	return c->into && c->marks && c->frame && c->path && c->node ? copy_heading(c->into, from) : -ENOMEM;
}

static void copy_done(struct copy *c)
{
	flame_free(c->into);
	free(c->marks);
	free(c->frame);
	free(c->path);
	free(c->node);
}

static s64 copy_frame(struct copy *c, u32 frame)
{
	if (!c->frame[frame]) {
		s64 number = flame_frame(c->into, &flame_frames(c->from)[frame]);

		if (number < 0)
			return number;
		c->frame[frame] = (u32)number + 1;
	}
	return c->frame[frame] - 1;
}

static s64 copy_node(struct copy *c, u32 i)
{
	const struct flame_node *n = &flame_nodes(c->from)[i];
	u32 parent = c->node[n->parent];
	s64 frame;

	if (!i || c->marks[n->frame] & HIDDEN)
		return parent;
	frame = copy_frame(c, n->frame);
	if (frame < 0)
		return frame;
	if (c->narrow->collapse && same_function(c->into, flame_nodes(c->into)[parent].frame, (u32)frame))
		return parent;
	return flame_node(c->into, parent, (u32)frame);
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
			flame_count(c->into, (u32)node, flame_nodes(c->from)[i].self);
	}
	return 0;
}

int narrow_flame(const struct narrow *n, struct flame **flame, struct buf *why)
{
	_cleanup_(copy_done) struct copy c = { 0 };
	int r;

	if (!n->any)
		return 0;
	r = copy_init(&c, n, *flame);
	if (r == 0)
		r = mark_frames(n, *flame, c.marks, why);
	if (r < 0)
		return r;
	mark_nodes(n, *flame, c.marks, c.path);
	r = copy_nodes(&c);
	if (r < 0)
		return r;
	flame_sum(c.into);
	flame_free(*flame);
	*flame = TAKE(c.into);
	return 0;
}

int narrow_find(const struct flame *flame, const char *text, struct narrow_found *ret_found, struct buf *why)
{
	const struct flame_node *nodes = flame_nodes(flame);
	_cleanup_(freep) u16 *marks = calloc((size_t)flame->frames.count + 1, sizeof(*marks));
	_cleanup_(freep) bool *below = calloc((size_t)flame->nodes.count + 1, sizeof(*below));
	struct narrow_found found = { 0 };
	int r = marks && below ? matcher_mark(text, flame, 1, marks, why) : -ENOMEM;

	if (r < 0)
		return r;
	for (u32 i = 1; i < flame->nodes.count; i++) {
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
