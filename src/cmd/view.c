// SPDX-License-Identifier: Apache-2.0
#include "cmd/view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/calltree.h"
#include "analysis/difference.h"
#include "base/buf.h"
#include "base/cleanup.h"

const char *const view_by_names[] = {
#define X(name, text) text,
	SUMMARY_BYS(X)
#undef X
	NULL,
};

static double percent(s64 part, s64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Columns left on the line, TEXT_UNLIMITED where nobody counts them. */
static unsigned room_after(const struct view *view, unsigned used)
{
	if (!view->terminal->width)
		return TEXT_UNLIMITED;
	return view->terminal->width > used ? view->terminal->width - used : 0;
}

static unsigned room_less(unsigned room, unsigned used)
{
	return room == TEXT_UNLIMITED ? room : room > used ? room - used : 0;
}

/* The name of a row, then what it belongs to, dimmed. */
static void add_name(const struct view *view, const struct frame *frame, unsigned room, struct buf *out)
{
	const char *dim = terminal_style(view->terminal, STYLE_DIM),
		   *plain = terminal_style(view->terminal, STYLE_NONE);
	struct str module = str_base_name(frame->exe);
	char number[32];

	room = room_less(room, text_add(out, frame->name, room));
	if (frame->file.len && room > 3) {
		int len = snprintf(number, sizeof(number), ":%lld", (long long)frame->line);

		buf_addf(out, "  %s", dim);
		room = room_less(room, 2 + (unsigned)len);
		room = room_less(room, text_add(out, str_base_name(frame->file), room));
		buf_addf(out, "%s%s", room ? number : "", plain);
	}
	/* "libx.so+0x1230" has said it already. */
	if (!module.len || room <= 3 ||
	    (frame->name.len > module.len && frame->name.at[module.len] == '+' &&
	     !memcmp(frame->name.at, module.at, module.len)))
		return;
	buf_addf(out, "  %s", dim);
	(void)text_add(out, module, room_less(room, 2));
	buf_addf(out, "%s", plain);
}

static bool is_owner(enum summary_by by)
{
	return by == SUMMARY_PROCESS || by == SUMMARY_THREAD;
}

static void add_head(const struct view *view, struct buf *out)
{
	buf_addf(out, "%s", terminal_style(view->terminal, STYLE_BOLD));
	if (is_owner(view->by))
		buf_addf(out, "%7s %10s %8s%s %s", "share", "value", "pid",
			 view->by == SUMMARY_THREAD ? "      tid" : "", view_by_names[view->by]);
	else
		buf_addf(out, "%7s %10s %7s %10s  %s", "self%", "self", "total%", "total", view_by_names[view->by]);
	buf_addf(out, "%s\n", terminal_style(view->terminal, STYLE_NONE));
}

static void add_id(struct buf *out, s64 id)
{
	if (id >= 0)
		buf_addf(out, " %8lld", (long long)id);
	else
		buf_addf(out, " %8s", "-");
}

static void add_row(const struct view *view, const struct summary *s, const struct summary_row *row, struct buf *out)
{
	char self[TEXT_VALUE_MAX], total[TEXT_VALUE_MAX];

	text_value(self, row->self, s->unit);
	text_value(total, row->total, s->unit);
	if (is_owner(view->by)) {
		buf_addf(out, "%6.2f%% %10s", percent(row->self, s->total), self);
		add_id(out, row->frame->pid);
		if (view->by == SUMMARY_THREAD)
			add_id(out, row->frame->tid);
		buf_addf(out, " ");
		add_name(view, row->frame, room_after(view, view->by == SUMMARY_THREAD ? 37 : 28), out);
	} else {
		buf_addf(out, "%6.2f%% %10s %6.2f%% %10s  ", percent(row->self, s->total), self,
			 percent(row->total, s->total), total);
		add_name(view, row->frame, room_after(view, 39), out);
	}
	buf_addf(out, "\n");
}

static bool holds(struct str text, const char *part)
{
	size_t len = strlen(part);

	for (size_t i = 0; i + len <= text.len; i++) {
		if (!strncasecmp(text.at + i, part, len))
			return true;
	}
	return !len;
}

static bool is_shown(const struct view *view, const struct summary_row *row)
{
	return !view->filter || holds(row->frame->name, view->filter) || holds(row->frame->exe, view->filter);
}

u32 view_row_count(const struct view *view, const struct summary *summary)
{
	u32 count = 0;

	for (u32 i = 0; i < summary->row_count; i++)
		count += is_shown(view, &summary->rows[i]);
	return count;
}

void view_table(const struct view *view, const struct summary *summary, struct buf *out)
{
	u32 passed = 0, shown = 0, count = view_row_count(view, summary);

	add_head(view, out);
	for (u32 i = 0; i < summary->row_count && shown < view->limit; i++) {
		if (!is_shown(view, &summary->rows[i]) || passed++ < view->skip)
			continue;
		add_row(view, summary, &summary->rows[i], out);
		shown++;
	}
	if (view->skip + shown < count)
		buf_addf(out, "%s%39s%u more%s\n", terminal_style(view->terminal, STYLE_DIM), "",
			 count - view->skip - shown, terminal_style(view->terminal, STYLE_NONE));
}

/* ---- Trees ---- */

/* Walks a tree from its root, children after their parent, without what is too small. */
struct walk {
	const struct calltree *tree;
	double least;		/* total below which a node is left out */
	u32 at;
	u32 *depths;		/* of each node: levels below the root */
};

static void walk_done(struct walk *walk)
{
	free(walk->depths);
}

static bool big_enough(const struct walk *walk, u32 node)
{
	return fabs((double)calltree_nodes(walk->tree)[node].total) >= walk->least;
}

static int walk_init(struct walk *walk, const struct view *view, const struct summary *summary,
		     const struct calltree *tree)
{
	*walk = (struct walk){ .tree = tree, .least = fabs((double)summary->total) * view->min_percent / 100 };
	walk->depths = calloc(tree->nodes.count, sizeof(*walk->depths));
	for (u32 i = 1; walk->depths && i < tree->nodes.count; i++)
		walk->depths[i] = walk->depths[calltree_nodes(tree)[i].parent] + 1;
	return walk->depths ? 0 : -ENOMEM;
}

/* Steps to the next node; false at the end. *ret_closed counts the nodes that ended on the way. */
static bool walk_next(struct walk *walk, u32 *ret_closed)
{
	u32 next = calltree_next(walk->tree, 0, walk->at, true), depth = walk->depths[walk->at];

	/* Siblings are sorted: after one that is too small all are. */
	while (next && !big_enough(walk, next))
		next = calltree_next(walk->tree, 0, calltree_nodes(walk->tree)[next].parent, false);
	*ret_closed = next ? depth + 1 - walk->depths[next] : depth + 1;
	walk->at = next ? next : walk->at;
	return next;
}

static bool has_siblings(const struct walk *walk)
{
	u32 next = walk->tree->next[walk->at], parent = calltree_nodes(walk->tree)[walk->at].parent;

	return (next && big_enough(walk, next)) || walk->tree->child[parent] != walk->at;
}

/* Deeper than this a line would hold nothing but blanks. */
#define TREE_INDENT_MAX 60

int view_tree(const struct view *view, const struct summary *summary, const struct calltree *tree, struct buf *out)
{
	_cleanup_(walk_done) struct walk walk;
	_cleanup_(freep) u32 *indents = calloc(tree->nodes.count, sizeof(*indents));
	u32 closed, lines = 0;

	if (walk_init(&walk, view, summary, tree) < 0 || !indents)
		return -ENOMEM;
	buf_addf(out, "%s%7s %7s %10s  call tree%s\n", terminal_style(view->terminal, STYLE_BOLD), "total%", "self%",
		 "total", terminal_style(view->terminal, STYLE_NONE));
	while (lines < view->limit && walk_next(&walk, &closed)) {
		const struct calltree_node *node = &calltree_nodes(tree)[walk.at];
		const struct frame *frame = calltree_frame_of(tree, walk.at);
		char total[TEXT_VALUE_MAX];
		bool is_branch = has_siblings(&walk);
		u32 indent = indents[node->parent] < TREE_INDENT_MAX ? indents[node->parent] : TREE_INDENT_MAX;

		/* Only branches move to the right: a chain of calls stays in its column. */
		indents[walk.at] = indents[node->parent] + (is_branch ? 2 : 0);
		buf_addf(out, "%6.2f%% %6.2f%% %10s  %*s%s", percent(node->total, summary->total),
			 percent(node->self, summary->total), text_value(total, node->total, summary->unit),
			 (int)indent, "", is_branch ? "- " : "");
		add_name(view, frame, room_after(view, 28 + indent + 2 * is_branch), out);
		if (frame_is_label(frame) && frame->pid >= 0)
			buf_addf(out, " (%lld)", (long long)(frame->tid >= 0 ? frame->tid : frame->pid));
		buf_addf(out, "\n");
		lines++;
	}
	if (tree->cut_count)
		buf_addf(out, "%llu frames did not fit into the tree\n", (unsigned long long)tree->cut_count);
	return buf_err(out);
}

/* ---- Differences ---- */

static void add_signed(struct buf *out, s64 value, enum unit unit)
{
	char text[TEXT_VALUE_MAX], with_sign[TEXT_VALUE_MAX + 1];

	snprintf(with_sign, sizeof(with_sign), "%s%s", value > 0 ? "+" : "", text_value(text, value, unit));
	buf_addf(out, " %10s", with_sign);
}

static void add_change(const struct view *view, const struct summary *after, const struct difference_row *row,
		       bool by_total, struct buf *out)
{
	const struct difference_side *b = &row->before, *a = &row->after;
	double before = by_total ? b->total_share : b->self_share, now = by_total ? a->total_share : a->self_share;
	s64 value = by_total ? a->total - b->total : a->self - b->self;
	double change = 100 * (now - before);
	enum terminal_style style = change > 0.005 ? STYLE_RED : change < -0.005 ? STYLE_GREEN : STYLE_NONE;

	buf_addf(out, "%6.2f%% %6.2f%% %s%+7.2f%s", 100 * before, 100 * now, terminal_style(view->terminal, style),
		 change, terminal_style(view->terminal, STYLE_NONE));
	add_signed(out, value, after->unit);
	buf_addf(out, "  ");
	add_name(view, row->frame, room_after(view, 36), out);
	buf_addf(out, "\n");
}

void view_difference(const struct view *view, const struct summary *before, const struct summary *after,
		     const struct difference *difference, bool by_total, struct buf *out)
{
	u32 count = difference->row_count < view->limit ? difference->row_count : view->limit;

	buf_addf(out, "%s%7s %7s %7s %10s  %s%s\n", terminal_style(view->terminal, STYLE_BOLD), "before", "after",
		 "change", by_total ? "total" : "self", view_by_names[view->by],
		 terminal_style(view->terminal, STYLE_NONE));
	for (u32 i = 0; i < count; i++)
		add_change(view, after, &difference->rows[i], by_total, out);
	if (count < difference->row_count)
		buf_addf(out, "%s%36s%u more%s\n", terminal_style(view->terminal, STYLE_DIM), "",
			 difference->row_count - count, terminal_style(view->terminal, STYLE_NONE));
}

/* ---- JSON ---- */

static void add_summary_json(const struct summary *s, struct buf *out)
{
	buf_addf(out, "\"type\": ");
	text_add_json(out, s->type);
	buf_addf(out,
		 ", \"unit\": \"%s\", \"period\": %lld, \"time_unix_ns\": %llu, \"duration_ns\": %llu, \"samples\": "
		 "%llu, "
		 "\"total\": %lld",
		 unit_text(s->unit), (long long)s->period, (unsigned long long)s->time_unix_ns,
		 (unsigned long long)s->duration_ns, (unsigned long long)s->sample_count, (long long)s->total);
}

/* The fields that name a row, without braces. */
static void add_name_json(enum summary_by by, const struct frame *frame, struct buf *out)
{
	buf_addf(out, "\"name\": ");
	text_add_json(out, frame->name);
	if (frame->exe.len) {
		buf_addf(out, ", \"module\": ");
		text_add_json(out, frame->exe);
	}
	if (by == SUMMARY_LINE) {
		buf_addf(out, ", \"file\": ");
		text_add_json(out, frame->file);
		buf_addf(out, ", \"line\": %lld", (long long)frame->line);
	}
	if (frame_is_label(frame) && frame->pid >= 0)
		buf_addf(out, ", \"pid\": %lld", (long long)frame->pid);
	if (frame_is_label(frame) && frame->tid >= 0)
		buf_addf(out, ", \"tid\": %lld", (long long)frame->tid);
}

void view_table_json(const struct view *view, const struct summary *summary, struct buf *out)
{
	u32 count = summary->row_count < view->limit ? summary->row_count : view->limit;

	buf_addf(out, "{");
	add_summary_json(summary, out);
	buf_addf(out, ", \"by\": \"%s\", \"rows\": [", view_by_names[view->by]);
	for (u32 i = 0; i < count; i++) {
		const struct summary_row *row = &summary->rows[i];

		buf_addf(out, "%s\n  {", i ? "," : "");
		add_name_json(view->by, row->frame, out);
		buf_addf(out, ", \"self\": %lld, \"total\": %lld}", (long long)row->self, (long long)row->total);
	}
	buf_addf(out, "\n]}\n");
}

int view_tree_json(const struct view *view, const struct summary *summary, const struct calltree *tree, struct buf *out)
{
	_cleanup_(walk_done) struct walk walk;
	u32 closed;

	if (walk_init(&walk, view, summary, tree) < 0)
		return -ENOMEM;
	buf_addf(out, "{");
	add_summary_json(summary, out);
	buf_addf(out, ", \"self\": %lld, \"children\": [", (long long)calltree_nodes(tree)[0].self);
	while (walk_next(&walk, &closed)) {
		const struct calltree_node *node = &calltree_nodes(tree)[walk.at];
		const struct frame *frame = calltree_frame_of(tree, walk.at);

		for (u32 i = 0; i < closed; i++)
			buf_addf(out, "]}");
		buf_addf(out, "%s\n%*s{", closed ? "," : "",
			 (int)(walk.depths[walk.at] < TREE_INDENT_MAX ? walk.depths[walk.at] : TREE_INDENT_MAX), "");
		add_name_json(view->by, frame, out);
		buf_addf(out, ", \"self\": %lld, \"total\": %lld, \"children\": [", (long long)node->self,
			 (long long)node->total);
	}
	for (u32 i = 0; i < closed; i++)
		buf_addf(out, "]}");
	buf_addf(out, "\n");
	return buf_err(out);
}

static void add_side_json(const struct difference_side *side, struct buf *out)
{
	buf_addf(out, "{\"self\": %lld, \"total\": %lld, \"self_share\": %.6f, \"total_share\": %.6f}",
		 (long long)side->self, (long long)side->total, side->self_share, side->total_share);
}

void view_difference_json(const struct view *view, const struct summary *before, const struct summary *after,
			  const struct difference *difference, struct buf *out)
{
	u32 count = difference->row_count < view->limit ? difference->row_count : view->limit;

	buf_addf(out, "{\"before\": {");
	add_summary_json(before, out);
	buf_addf(out, "}, \"after\": {");
	add_summary_json(after, out);
	buf_addf(out, "}, \"by\": \"%s\", \"rows\": [", view_by_names[view->by]);
	for (u32 i = 0; i < count; i++) {
		buf_addf(out, "%s\n  {", i ? "," : "");
		add_name_json(view->by, difference->rows[i].frame, out);
		buf_addf(out, ", \"before\": ");
		add_side_json(&difference->rows[i].before, out);
		buf_addf(out, ", \"after\": ");
		add_side_json(&difference->rows[i].after, out);
		buf_addf(out, "}");
	}
	buf_addf(out, "\n]}\n");
}
