// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "base/utf8.h"
#include "lang/frame_type.h"
#include "profile/any.h"
#include "wire/views/flametree.h"
#include "wire/format.h"
#include "wire/views/svg.h"
#include "wire/views/xmltext.h"

#define WIDTH 1200
#define ROW 17
#define HEAD 40			/* for the heading */
#define LETTER 7.1		/* how wide a letter is */
#define LEAST_WIDTH 0.1		/* narrower frames are left out */
#define NAME_BYTES_MAX 512
#define ROWS_SURE 100		/* what is deeper is drawn as long as a row has LEAST_ROW of the whole width */
#define LEAST_ROW 6.0

__asm__(".section .rodata\nsvg_script:\n.incbin \"src/wire/views/svg.js\"\nsvg_script_end:\n.byte 0\n.text\n");
/* Hidden: see html_encode.c. */
extern const char svg_script[] __attribute__((visibility("hidden")));
extern const char svg_script_end[] __attribute__((visibility("hidden")));

struct drawing {
	const struct flametree *tree;
	struct buf *out;
	s64 *left;		/* of each node, in units of value */
	u32 *depth;		/* of each node */
	u32 deepest;		/* of those that are drawn */
	u32 rows_left_out;
};

static double width_of(const struct drawing *d, s64 value)
{
	s64 whole = calltree_nodes(d->tree->calls)[0].total;

	return whole > 0 ? (double)value * WIDTH / (double)whole : 0;
}

static bool is_wide(const struct drawing *d, u32 node)
{
	return width_of(d, calltree_nodes(d->tree->calls)[node].total) >= LEAST_WIDTH;
}

static bool is_drawn(const struct drawing *d, u32 node)
{
	return d->depth[node] <= d->deepest && is_wide(d, node);
}

/* One endless recursion must not make a picture of a hundred screens, with nothing else in most of them. */
static int choose_rows(struct drawing *d)
{
	const struct calltree *calls = d->tree->calls;
	_cleanup_(freep) double *widths = NULL;
	u32 deepest = 0;

	for (u32 i = 0; i < calls->nodes.count; i++)
		if (is_wide(d, i) && d->depth[i] > deepest)
			deepest = d->depth[i];
	widths = calloc((size_t)deepest + 1, sizeof(*widths));
	if (!widths)
		return -ENOMEM;
	for (u32 i = 0; i < calls->nodes.count; i++)
		if (is_wide(d, i))
			widths[d->depth[i]] += width_of(d, calltree_nodes(calls)[i].total);
	d->deepest = deepest;
	while (d->deepest > ROWS_SURE && widths[d->deepest] < LEAST_ROW)
		d->deepest--;
	d->rows_left_out = deepest - d->deepest;
	return 0;
}

/* Children stand side by side over their parent. */
static int place_nodes(struct drawing *d)
{
	const struct calltree *calls = d->tree->calls;
	const struct calltree_node *nodes = calltree_nodes(calls);

	d->left = calloc(calls->nodes.count, sizeof(*d->left));
	d->depth = calloc(calls->nodes.count, sizeof(*d->depth));
	if (!d->left || !d->depth)
		return -ENOMEM;
	for (u32 i = 0; i < calls->nodes.count; i++) {
		s64 at = d->left[i];

		for (u32 child = calls->child[i]; child; child = calls->next[child]) {
			d->left[child] = at;
			d->depth[child] = d->depth[i] + 1;
			at = saturating_add(at, nodes[child].total);
		}
	}
	return choose_rows(d);
}

/* ---- Colours ------------------------------------------------------------------------- */

#define UNTYPED 0xe3b56d

/* That of its type, a little lighter or darker by name, so that neighbours can be told apart. */
static u32 colour_of(const struct frame *frame)
{
	u32 base = frame->type.len ? frame_type_at(frame_type_find(frame->type))->colour : UNTYPED, colour = 0;
	u32 shade = 224 + (u32)(hash_bytes(0, frame->name.at, frame->name.len) & 31);

	for (int shift = 0; shift < 24; shift += 8)
		colour |= ((base >> shift & 255) * shade / 256) << shift;
	return colour;
}

/* ---- Frames -------------------------------------------------------------------------- */

/* At most that many characters, the last of them dots if there are more. */
static void put_cut(struct buf *out, struct str name, u32 letters)
{
	size_t at = 0, end = 0;
	u32 count = 0;

	while (at < name.len && count <= letters) {
		size_t step = utf8_next(name.at + at, name.len - at);

		if (++count < letters)
			end = at + (step ? step : 1);
		at += step ? step : 1;
	}
	if (count <= letters)
		end = name.len;
	xmltext_put(out, name.at, end);
	if (end < name.len)
		buf_addf(out, "…");
}

static void put_title(struct drawing *d, const struct calltree_node *node, const struct frame *frame, struct str name)
{
	s64 whole = calltree_nodes(d->tree->calls)[0].total;

	buf_addf(d->out, "<title>");
	put_cut(d->out, name, NAME_BYTES_MAX);
	buf_addf(d->out, "\n");
	flametree_amount(d->tree, node->total, d->out);
	buf_addf(d->out, ", %.2f%%", whole > 0 ? 100.0 * (double)node->total / (double)whole : 0);
	if (frame->file.len || frame->exe.len) {
		struct str file = frame->file.len ? frame->file : frame->exe;

		buf_addf(d->out, "\n");
		put_cut(d->out, file, NAME_BYTES_MAX);
	}
	if (frame->file.len && frame->line > 0)
		buf_addf(d->out, ":%lld", frame->line);
	buf_addf(d->out, "</title>");
}

static void put_node(struct drawing *d, u32 number)
{
	const struct calltree_node *node = &calltree_nodes(d->tree->calls)[number];
	const struct frame *frame = calltree_frame_of(d->tree->calls, number);
	struct str name = number ? frame->name : STR("all");
	double x = width_of(d, d->left[number]), width = width_of(d, node->total);
	u32 y = HEAD + (d->deepest - d->depth[number]) * ROW;
	s32 letters = (s32)((width - 5) / LETTER);

	buf_addf(d->out, "<g>");
	put_title(d, node, frame, name);
	buf_addf(d->out, "<rect x=\"%.4f\" y=\"%u\" width=\"%.4f\" height=\"%d\" fill=\"#%06x\"/>", x, y, width,
		 ROW - 1, number ? colour_of(frame) : 0xd0d4da);
	buf_addf(d->out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
	if (letters >= 3)
		put_cut(d->out, name, (u32)letters);
	buf_addf(d->out, "</text></g>\n");
}

static void put_head(struct drawing *d)
{
	u32 height = HEAD + (d->deepest + 1) * ROW + 8;

	buf_addf(d->out,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" height=\"%u\" "
		 "viewBox=\"0 0 %d %u\" data-width=\"%d\">\n", WIDTH, height, WIDTH, height, WIDTH);
	buf_addf(d->out, "<desc>wick " WICK_VERSION "</desc>\n"
		 "<style>text { font: 12px monospace; fill: #1d1d1f } #frames text { pointer-events: none }\n"
		 "#frames g { cursor: pointer } #frames g:hover rect { stroke: #1d1d1f } #frames rect { rx: 1 }\n"
		 ".button { cursor: pointer; text-decoration: underline }</style>\n"
		 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfaf8\"/>\n<text x=\"3\" y=\"16\">");
	xmltext_put(d->out, d->tree->summary->type.at, d->tree->summary->type.len);
	buf_addf(d->out, ", ");
	flametree_amount(d->tree, calltree_nodes(d->tree->calls)[0].total, d->out);
	if (d->rows_left_out)
		buf_addf(d->out, "; %u deeper rows, each of less than %.1f%%, are left out", d->rows_left_out,
			 100 * LEAST_ROW / WIDTH);
	buf_addf(d->out, "</text>\n"
		 "<text id=\"reset\" class=\"button\" x=\"3\" y=\"33\" style=\"display: none\">reset zoom</text>\n"
		 "<text id=\"matched\" x=\"%d\" y=\"33\" text-anchor=\"end\"></text>\n"
		 "<text id=\"search\" class=\"button\" x=\"%d\" y=\"16\" text-anchor=\"end\" style=\"display: none\">"
		 "search</text>\n",
		 WIDTH - 3, WIDTH - 3);
}

static int draw(struct drawing *d)
{
	int r = place_nodes(d);

	if (r < 0)
		return r;
	put_head(d);
	buf_addf(d->out, "<g id=\"frames\">\n");
	for (u32 i = 0; i < d->tree->calls->nodes.count; i++)
		if (!i || is_drawn(d, i))
			put_node(d, i);
	buf_addf(d->out, "</g>\n<script><![CDATA[\n");
	buf_add(d->out, svg_script, (size_t)(svg_script_end - svg_script));
	buf_addf(d->out, "]]></script>\n</svg>\n");
	return buf_err(d->out);
}

int svg_encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(flametree_done) struct flametree tree;
	struct drawing d = { .tree = &tree, .out = out };
	int r = flametree_init(&tree, profile);

	if (r < 0)
		return r;
	r = draw(&d);
	free(d.left);
	free(d.depth);
	return r;
}

const struct format_ops format_svg = {
	.name = "svg",
	.help = "a flame graph, with zoom and search in a browser",
	.content_type = "image/svg+xml",
	.suffixes = (const char *const[]){ ".svg", NULL },
	.encode = svg_encode,
};
