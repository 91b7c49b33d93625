// SPDX-License-Identifier: Apache-2.0
#include "web/flame_json.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "web/links.h"
#include "wire/jsontext.h"

#define NAME_BYTES_MAX 512	/* of a name in the tree; the whole is in the list of functions */

struct writer {
	const struct flame *flame;
	const struct links *links;
	const s64 *compared;
	s64 least;		/* smaller nodes are left out */
	u32 *frames;		/* number in the answer + 1; 0: not there */
	u32 *order;		/* the frames of the answer */
	u32 frame_count;
	u32 other;		/* the frame of what is left out, + 1 */
	struct buf nodes;
};

static void writer_done(struct writer *w)
{
	free(w->frames);
	free(w->order);
	buf_done(&w->nodes);
}

static s64 weight(const struct writer *w, u32 node)
{
	s64 total = flame_nodes(w->flame)[node].total, other = w->compared ? w->compared[node] : 0;

	return total > other ? total : other;
}

/* ---- How small is too small ------------------------------------------------------------- */

struct weights {
	const struct writer *w;
	s64 *at;
	u32 count;
};

static void add_weight(void *arg, u32 node)
{
	struct weights *weights = arg;

	weights->at[weights->count++] = weight(weights->w, node);
}

/* The k-th largest, by repeated partition. */
static s64 kth_largest(s64 *at, u32 count, u32 k)
{
	u32 low = 0, high = count - 1;

	while (low < high) {
		s64 pivot = at[low + (high - low) / 2];
		u32 i = low, j = high;

		while (i <= j) {
			while (at[i] > pivot)
				i++;
			while (at[j] < pivot)
				j--;
			if (i <= j) {
				s64 swapped = at[i];

				at[i++] = at[j];
				at[j] = swapped;
				if (!j)
					break;
				j--;
			}
		}
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			break;
	}
	return at[k];
}

static int choose_least(struct writer *w, u32 root, u32 nodes_max)
{
	struct weights weights = { .w = w };

	weights.at = reallocarray(NULL, (size_t)w->flame->nodes.count + 1, sizeof(*weights.at));
	if (!weights.at)
		return -ENOMEM;
	links_visit(w->links, w->flame, root, &(struct visitor){ add_weight, NULL, &weights });
	w->least = 1;
	/* Of equals either all or none are kept. */
	if (weights.count > nodes_max)
		w->least = kth_largest(weights.at, weights.count, nodes_max) + 1;
	free(weights.at);
	return 0;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static u32 frame_number(struct writer *w, u32 frame)
{
	if (!w->frames[frame]) {
		w->order[w->frame_count++] = frame;
		w->frames[frame] = w->frame_count;
	}
	return w->frames[frame] - 1;
}

static void put_node(struct writer *w, u32 frame, s64 total, s64 self, u32 children, s64 compared)
{
	buf_addf(&w->nodes, "%s%u,%lld,%lld,%u", w->nodes.len ? "," : "", frame, total, self, children);
	if (w->compared)
		buf_addf(&w->nodes, ",%lld", compared);
}

/* What is left out of a node's children: its sum, and how many are kept. */
struct left_out {
	s64 total, compared;
	u32 kept;
	bool any;
};

static struct left_out look_at_children(const struct writer *w, u32 node)
{
	struct left_out out = { 0 };

	for (u32 child = w->links->child[node]; child; child = w->links->next[child]) {
		if (weight(w, child) >= w->least) {
			out.kept++;
			continue;
		}
		out.total += flame_nodes(w->flame)[child].total;
		out.compared += w->compared ? w->compared[child] : 0;
		out.any = true;
	}
	out.any = out.any && (out.total || out.compared);
	return out;
}

static u32 other_number(struct writer *w)
{
	if (!w->other) {
		w->order[w->frame_count++] = UINT32_MAX;
		w->other = w->frame_count;
	}
	return w->other - 1;
}

static void put_kept(struct writer *w, u32 node)
{
	const struct flame_node *n = &flame_nodes(w->flame)[node];
	struct left_out out = look_at_children(w, node);

	put_node(w, frame_number(w, n->frame), n->total, n->self, out.kept + out.any,
		 w->compared ? w->compared[node] : 0);
	if (out.any)
		put_node(w, other_number(w), out.total, out.total, 0, out.compared);
}

/* As links_visit(), but not below what is left out. */
static void put_nodes(struct writer *w, u32 root)
{
	const struct links *l = w->links;
	u32 node = root;

	for (;;) {
		u32 down = 0;

		if (node == root || weight(w, node) >= w->least) {
			put_kept(w, node);
			down = l->child[node];
		}
		if (down) {
			node = down;
			continue;
		}
		while (node != root && !l->next[node])
			node = flame_nodes(w->flame)[node].parent;
		if (node == root)
			return;
		node = l->next[node];
	}
}

/* ---- Frames ------------------------------------------------------------------------------------ */

static void put_text(struct jsontext *j, struct str s)
{
	u32 len = s.len > NAME_BYTES_MAX ? NAME_BYTES_MAX : s.len;

	/* Not in the middle of a character. */
	while (len < s.len && len && ((unsigned char)s.at[len] & 0xc0) == 0x80)
		len--;
	jsontext_string(j, s.at, len);
}

static void put_frame(struct writer *w, struct jsontext *j, u32 frame)
{
	static const struct flame_frame other = { .name = { "(other)", 7 }, .type = { "other", 5 } };
	const struct flame_frame *f = frame == UINT32_MAX ? &other : &flame_frames(w->flame)[frame];
	char address[24];

	jsontext_open(j, '[');
	put_text(j, f->name);
	put_text(j, f->file);
	put_text(j, f->exe);
	put_text(j, f->type);
	jsontext_u32(j, f->line);
	jsontext_u32(j, f->is_inline);
	put_text(j, f->build_id);
	jsontext_string(j, address, (size_t)snprintf(address, sizeof(address), f->address ? "0x%llx" : "", f->address));
	jsontext_close(j, ']');
}

static void put_number(struct jsontext *j, const char *key, double value)
{
	jsontext_key(j, key);
	jsontext_double(j, value);
}

static void put_heading(const struct writer *w, struct jsontext *j, u32 root)
{
	const struct flame *f = w->flame;

	jsontext_key(j, "unit");
	put_text(j, f->unit);
	jsontext_key(j, "period");
	put_text(j, f->period);
	put_number(j, "total", (double)flame_nodes(f)[root].total);
	put_number(j, "root", (double)flame_nodes(f)[0].total);
	jsontext_key(j, "coarse");
	jsontext_bool(j, f->is_coarse);
	put_number(j, "from", (double)f->from_ns / 1e9);
	put_number(j, "to", (double)f->to_ns / 1e9);
}

int flame_json(const struct flame *flame, const struct links *links, u32 root, u32 nodes_max, const s64 *compared,
	       struct buf *out)
{
	_cleanup_(writer_done) struct writer w = { .flame = flame, .links = links, .compared = compared };
	struct jsontext j = { .b = out };
	int r;

	buf_init(&w.nodes, out->max);
	w.frames = calloc((size_t)flame->frames.count + 1, sizeof(*w.frames));
	w.order = calloc((size_t)flame->frames.count + 2, sizeof(*w.order));
	if (!w.frames || !w.order)
		return -ENOMEM;
	r = choose_least(&w, root, nodes_max);
	if (r < 0)
		return r;
	put_nodes(&w, root);
	jsontext_open(&j, '{');
	put_heading(&w, &j, root);
	jsontext_key(&j, "frames");
	jsontext_open(&j, '[');
	for (u32 i = 0; i < w.frame_count; i++)
		put_frame(&w, &j, w.order[i]);
	jsontext_close(&j, ']');
	jsontext_key(&j, "nodes");
	buf_addf(out, "[");
	buf_add(out, w.nodes.data, w.nodes.len);
	buf_addf(out, "]");
	jsontext_close(&j, '}');
	return buf_err(&w.nodes) < 0 ? buf_err(&w.nodes) : buf_err(out);
}
