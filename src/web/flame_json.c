// SPDX-License-Identifier: Apache-2.0
#include "web/flame_json.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/interner.h"
#include "base/json_write.h"
#include "base/largest.h"
#include "lang/frame_type.h"

#define NAME_BYTES_MAX 512	/* of a name in the tree; the whole is in the list of functions */
#define TEXTS_MAX (1u << 20)
#define TEXTS_BYTES_MAX ((size_t)256 << 20)

/* A node has a number in each; base only where two ranges are compared. */
#define NODE_COLUMNS(X) X(frame) X(self) X(rest) X(children) X(base)

/* Texts that many frames share are written once, and called by their number. */
struct texts {
	struct arena arena;
	struct interner interner;
	int err;
};

struct column {
	struct buf text;
	struct json_write j;
};

struct writer {
	const struct calltree *flame;
	bool *kept;		/* by node: the others are left out */
	u32 *frames;		/* number in the answer + 1; 0: not there */
	u32 *order;		/* the frames of the answer */
	u32 frame_count;
#define X(name) struct column name;
	NODE_COLUMNS(X)
#undef X
	struct texts files, executables, kinds;
};

static void texts_init(struct texts *t)
{
	arena_init(&t->arena, TEXTS_BYTES_MAX);
	interner_init(&t->interner, &t->arena, TEXTS_MAX);
}

static void texts_done(struct texts *t)
{
	interner_done(&t->interner);
	arena_done(&t->arena);
}

static void column_init(struct column *c, size_t bytes_max)
{
	buf_init(&c->text, bytes_max);
	c->j.b = &c->text;
}

static int writer_init(struct writer *w, size_t bytes_max)
{
#define X(name) column_init(&w->name, bytes_max);
	NODE_COLUMNS(X)
#undef X
	texts_init(&w->files);
	texts_init(&w->executables);
	texts_init(&w->kinds);
	w->frames = calloc((size_t)w->flame->frames.count + 1, sizeof(*w->frames));
	w->order = calloc((size_t)w->flame->frames.count + 1, sizeof(*w->order));
	return w->frames && w->order ? 0 : -ENOMEM;
}

static void writer_done(struct writer *w)
{
#define X(name) buf_done(&w->name.text);
	NODE_COLUMNS(X)
#undef X
	texts_done(&w->files);
	texts_done(&w->executables);
	texts_done(&w->kinds);
	free(w->kept);
	free(w->frames);
	free(w->order);
}

static s64 weight(const struct writer *w, u32 node)
{
	s64 total = calltree_nodes(w->flame)[node].total, other = w->flame->base ? w->flame->base[node] : 0;

	return total > other ? total : other;
}

/* ---- How small is too small ------------------------------------------------------------- */

/* Of equals those that were added first: parents stand before their children. */
static int choose_kept(struct writer *w, u32 root, u32 nodes_max)
{
	const struct calltree_node *nodes = calltree_nodes(w->flame);
	u32 all = w->flame->nodes.count, count = 0;
	_cleanup_(freep) s64 *weights = array_calloc((size_t)all + 1, sizeof(*weights));
	struct largest largest;
	int r;

	w->kept = array_calloc((size_t)all + 1, sizeof(*w->kept));
	if (!weights || !w->kept)
		return -ENOMEM;
	for (u32 i = root; i < all; i++) {
		w->kept[i] = i == root || (i && w->kept[nodes[i].parent]);
		if (w->kept[i])
			weights[count++] = weight(w, i);
	}
	r = largest_init(&largest, weights, count, nodes_max);
	for (u32 i = root; i < all && r == 0; i++)
		w->kept[i] = w->kept[i] && largest_takes(&largest, weight(w, i));
	w->kept[root] = true;
	return r;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* How far back from the newest frame it is: 0 is one that was not there yet, the most frequent number by far. */
static u32 frame_distance(struct writer *w, u32 frame)
{
	if (w->frames[frame])
		return w->frame_count + 1 - w->frames[frame];
	w->order[w->frame_count++] = frame;
	w->frames[frame] = w->frame_count;
	return 0;
}

static void put_kept(struct writer *w, u32 node)
{
	const struct calltree_node *n = &calltree_nodes(w->flame)[node];
	u64 rest = (u64)n->total - (u64)n->self;	/* senders' sums may wrap */
	u32 kept = 0;

	for (u32 child = w->flame->child[node]; child; child = w->flame->next[child]) {
		if (!w->kept[child])
			continue;
		rest -= (u64)calltree_nodes(w->flame)[child].total;
		kept++;
	}
	json_write_u32(&w->frame.j, frame_distance(w, n->frame));
	json_write_integer(&w->self.j, n->self);
	json_write_integer(&w->rest.j, (s64)rest);
	json_write_u32(&w->children.j, kept);
	if (w->flame->base)
		json_write_integer(&w->base.j, w->flame->base[node]);
}

static void put_nodes(struct writer *w, u32 root)
{
	u32 node = root;

	do {
		if (w->kept[node])
			put_kept(w, node);
		node = calltree_next(w->flame, root, node, w->kept[node]);
	} while (node);
}

/* ---- Frames ------------------------------------------------------------------------------------ */

static struct str cut(struct str s)
{
	u32 len = s.len > NAME_BYTES_MAX ? NAME_BYTES_MAX : s.len;

	/* Not in the middle of a character. */
	while (len < s.len && len && ((unsigned char)s.at[len] & 0xc0) == 0x80)
		len--;
	return (struct str){ s.at, len };
}

static void put_text(struct json_write *j, struct str s)
{
	struct str shown = cut(s);

	json_write_string(j, shown.at, shown.len);
}

static void put_shared(struct json_write *j, struct texts *texts, struct str s)
{
	struct str shown = cut(s);
	u32 number = interner_add(&texts->interner, shown.at, shown.len, NULL);

	if (number == INTERNER_NONE)
		texts->err = -E2BIG;
	json_write_u32(j, number);
}

/* A file is its path and its build id: two of one name may differ. */
static void put_executable(struct writer *w, struct json_write *j, const struct frame *f)
{
	char both[2 * NAME_BYTES_MAX + 1];
	struct str exe = cut(f->exe), id = cut(f->build_id);

	memcpy(both, exe.len ? exe.at : "", exe.len);
	both[exe.len] = '\n';
	memcpy(both + exe.len + 1, id.len ? id.at : "", id.len);
	put_shared(j, &w->executables, (struct str){ both, exe.len + 1 + id.len });
}

static void put_address(struct json_write *j, u64 address)
{
	char text[24];

	json_write_string(j, text, (size_t)snprintf(text, sizeof(text), address ? "%llx" : "", address));
}

static void put_texts(struct json_write *j, const char *key, const struct texts *texts)
{
	json_write_key(j, key);
	json_write_open(j, '[');
	for (u32 i = 0; i < texts->interner.count; i++) {
		const struct interner_entry *e = interner_get(&texts->interner, i);

		json_write_string(j, e->at, e->len);
	}
	json_write_close(j, ']');
}

/* Of each kind, in the same order: the page has no table of its own. */
static void put_colours(struct json_write *j, const struct texts *kinds)
{
	json_write_key(j, "colours");
	json_write_open(j, '[');
	for (u32 i = 0; i < kinds->interner.count; i++) {
		const struct interner_entry *e = interner_get(&kinds->interner, i);
		u32 type = frame_type_find((struct str){ e->at, (u32)e->len });
		char text[8];

		(void)snprintf(text, sizeof(text), "#%06x", frame_type_at(type)->colour & 0xffffff);
		json_write_string(j, text, 7);
	}
	json_write_close(j, ']');
}

static void put_frames(struct writer *w, struct json_write *j)
{
	json_write_key(j, "frames");
	json_write_open(j, '{');
#define COLUMN(key, put)									\
	json_write_key(j, key);									\
	json_write_open(j, '[');									\
	for (u32 i = 0; i < w->frame_count; i++) {						\
		const struct frame *f = &calltree_frames(w->flame)[w->order[i]];		\
												\
		put;										\
	}											\
	json_write_close(j, ']')
	COLUMN("name", put_text(j, f->name));
	COLUMN("file", put_shared(j, &w->files, f->file));
	COLUMN("executable", put_executable(w, j, f));
	COLUMN("kind", put_shared(j, &w->kinds, f->type));
	COLUMN("line", json_write_u32(j, f->line));
	COLUMN("inlined", json_write_u32(j, f->is_inline));
	COLUMN("address", put_address(j, f->address));
#undef COLUMN
	json_write_close(j, '}');
	put_texts(j, "files", &w->files);
	put_texts(j, "executables", &w->executables);
	put_texts(j, "kinds", &w->kinds);
	put_colours(j, &w->kinds);
}

static void put_columns(struct writer *w, struct json_write *j)
{
	json_write_key(j, "nodes");
	json_write_open(j, '{');
#define X(name)							\
	if (w->name.text.len) {					\
		json_write_key(j, #name);				\
		json_write_open(j, '[');				\
		buf_add(j->b, w->name.text.data, w->name.text.len);	\
		json_write_close(j, ']');				\
	}
	NODE_COLUMNS(X)
#undef X
	json_write_close(j, '}');
}

static int writer_err(const struct writer *w)
{
	int r = w->files.err | w->executables.err | w->kinds.err;

#define X(name) r = r < 0 ? r : buf_err(&w->name.text);
	NODE_COLUMNS(X)
#undef X
	return r;
}

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

static void put_heading(const struct writer *w, struct json_write *j, u32 root)
{
	const struct calltree *f = w->flame;

	json_write_key(j, "unit");
	put_text(j, f->unit);
	json_write_key(j, "period");
	put_text(j, f->period);
	put_number(j, "total", (double)calltree_nodes(f)[root].total);
	put_number(j, "root", (double)calltree_nodes(f)[0].total);
	json_write_key(j, "coarse");
	json_write_bool(j, f->is_coarse);
	put_number(j, "from", (double)f->from_ns / 1e9);
	put_number(j, "to", (double)f->to_ns / 1e9);
}

int flame_json(const struct calltree *flame, u32 root, u32 nodes_max, struct buf *out)
{
	_cleanup_(writer_done) struct writer w = { .flame = flame };
	struct json_write j = { .b = out };
	int r = writer_init(&w, out->max);

	if (r == 0)
		r = choose_kept(&w, root, nodes_max);
	if (r < 0)
		return r;
	put_nodes(&w, root);
	json_write_open(&j, '{');
	put_heading(&w, &j, root);
	put_frames(&w, &j);
	put_columns(&w, &j);
	json_write_close(&j, '}');
	r = writer_err(&w);
	return r < 0 ? r : buf_err(out);
}
