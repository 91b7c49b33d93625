/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How summaries, call trees and differences look, for people and as JSON.
 * Everything is written to a buf; what is foreign is escaped. Shared by
 * report, diff and top.
 */
#ifndef CMD_VIEW_H
#define CMD_VIEW_H

#include "cmd/terminal.h"
#include "cmd/text.h"
#include "analysis/summary.h"

struct buf;
struct calltree;
struct difference;

/* Large enough for a tree of VIEW_NODES_MAX lines. */
#define VIEW_OUTPUT_MAX ((size_t)1 << 30)
#define VIEW_NODES_MAX (4u << 20)

struct view {
	const struct terminal *terminal;
	enum summary_by by;
	u32 limit;		/* rows at most */
	u32 skip;		/* tables: rows to leave out at the top */
	const char *filter;	/* tables: only rows whose name or module holds this, in any case; NULL: all */
	double min_percent;	/* trees: leave out what is smaller */
};

/* The names of enum summary_by, in its order, ended by NULL. */
extern const char *const view_by_names[];

/* How many rows the filter leaves. */
u32 view_row_count(const struct view *view, const struct summary *summary);

void view_table(const struct view *view, const struct summary *summary, struct buf *out);
int view_tree(const struct view *view, const struct summary *summary, const struct calltree *tree, struct buf *out);
void view_difference(const struct view *view, const struct summary *before, const struct summary *after,
		     const struct difference *difference, bool by_total, struct buf *out);

void view_table_json(const struct view *view, const struct summary *summary, struct buf *out);
int view_tree_json(const struct view *view, const struct summary *summary, const struct calltree *tree,
		   struct buf *out);
void view_difference_json(const struct view *view, const struct summary *before, const struct summary *after,
			  const struct difference *difference, struct buf *out);

#endif
