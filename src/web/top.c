// SPDX-License-Identifier: Apache-2.0
#include "web/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json_write.h"
#include "analysis/calltree.h"
#include "analysis/matcher.h"
#include "analysis/sums.h"

/* Frames of one name in one file are one function, whatever line they were at. */
static struct frame function_key(const struct frame *frame)
{
	return (struct frame){ .name = frame->name,
			       .exe = frame->exe,
			       .file = frame->exe.len ? STR("") : frame->file };
}

/* ---- Order ------------------------------------------------------------------------------- */

int top_order_read(const char *name, enum top_order *ret_order, struct buf *why)
{
	static const char *const names[] = {
#define X(id, text) text,
		TOP_ORDERS(X)
#undef X
	};

	for (u32 i = 0; i < TOP_ORDER_COUNT; i++) {
		if (*name && strcmp(name, names[i]))
			continue;
		*ret_order = i;
		return 0;
	}
	buf_addf(why, "order is to be one of");
	for (u32 i = 0; i < TOP_ORDER_COUNT; i++)
		buf_addf(why, " %s", names[i]);
	return -EINVAL;
}

struct row {
	const struct frame *frame;
	struct sum now, base;
	bool is_wanted;
};

struct rows {
	struct calltree *keys;	/* a frame for each, of its number */
	struct row *at;
	u32 count, cap;
	s64 total, base_total;	/* of all */
};

static void rows_done(struct rows *rows)
{
	calltree_free(rows->keys);
	free(rows->at);
}

struct ordering {
	const struct rows *rows;
	enum top_order order;
};

static double change_of(const struct rows *rows, const struct row *row)
{
	double now = rows->total ? (double)row->now.self / (double)rows->total : 0;
	double base = rows->base_total ? (double)row->base.self / (double)rows->base_total : 0;

	return now > base ? now - base : base - now;
}

static int compare_numbers(s64 x, s64 y)
{
	return x > y ? -1 : x < y;
}

static int compare_changes(double x, double y)
{
	return x > y ? -1 : x < y;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct ordering *o = arg;
	const struct row *x = a, *y = b;
	const struct frame *f = x->frame, *g = y->frame;
	int r = o->order == TOP_BY_TOTAL  ? compare_numbers(x->now.total, y->now.total) :
		o->order == TOP_BY_NAME	  ? str_compare(f->name, g->name) :
		o->order == TOP_BY_FILE	  ? str_compare(str_base_name(f->exe), str_base_name(g->exe)) :
		o->order == TOP_BY_KIND	  ? str_compare(f->type, g->type) :
		o->order == TOP_BY_CHANGE ? compare_changes(change_of(o->rows, x), change_of(o->rows, y)) :
					    0;

	return r ? r : sum_compare(&x->now, &y->now);
}

/* ---- Rows: the functions of one tree, or of two ----------------------------------------------------- */

/* Which frames are asked for by a part of their names. */
static int mark_wanted(const struct calltree *tree, const char *part, u16 *marks, struct buf *why)
{
	for (u32 i = 0; !*part && i < tree->frames.count; i++)
		marks[i] = 1;
	return *part ? matcher_mark(part, tree, 1, marks, why) : 0;
}

static int add_row(struct rows *rows, const struct frame *frame, const struct sum *sum, bool is_base)
{
	struct frame key = function_key(frame);
	s64 number = calltree_frame(rows->keys, &key);
	struct row *row;

	if (number < 0)
		return (int)number;
	if (array_reserve(&rows->at, &rows->cap, (u32)number + 1, sizeof(*rows->at)) < 0)
		return -ENOMEM;
	for (; rows->count <= number; rows->count++)
		rows->at[rows->count] = (struct row){ 0 };
	row = &rows->at[number];
	if (!row->frame)
		row->frame = frame;
	row->is_wanted = true;
	*(is_base ? &row->base : &row->now) = *sum;
	return 0;
}

static int add_tree(struct rows *rows, const struct calltree *tree, u32 root, const char *part, bool is_base,
		    struct buf *why)
{
	_cleanup_(sums_done) struct sums sums;
	_cleanup_(freep) u16 *marks = calloc((size_t)tree->frames.count + 1, sizeof(*marks));
	int r = sums_init(&sums, tree, root, function_key);

	if (r == 0)
		r = marks ? mark_wanted(tree, part, marks, why) : -ENOMEM;
	for (u32 i = 0; i < sums.count && r == 0; i++) {
		const struct frame *frame = &calltree_frames(tree)[sums.at[i].frame];

		if (sums.at[i].total && frame_is_function(frame) && marks[sums.at[i].frame])
			r = add_row(rows, frame, &sums.at[i], is_base);
	}
	*(is_base ? &rows->base_total : &rows->total) = calltree_nodes(tree)[0].total;
	return r;
}

static int get_rows(const struct calltree *flame, const struct top_options *options, struct rows *rows,
		    struct buf *why)
{
	int r = rows->keys ? add_tree(rows, flame, options->root, options->part, false, why) : -ENOMEM;
	u32 kept = 0;

	if (r == 0 && options->base)
		r = add_tree(rows, options->base, 0, options->part, true, why);
	for (u32 i = 0; i < rows->count; i++)
		if (rows->at[i].is_wanted)
			rows->at[kept++] = rows->at[i];
	rows->count = kept;
	return r;
}

static void put_row(struct json_write *j, const struct row *row, bool is_compared)
{
	const struct str texts[] = { row->frame->name, row->frame->exe, row->frame->file, row->frame->type };
	const s64 values[] = { row->now.self, row->now.total, row->base.self, row->base.total };

	json_write_open(j, '[');
	for (u32 i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_write_string(j, texts[i].at, texts[i].len);
	for (u32 i = 0; i < (is_compared ? 4 : 2); i++)
		json_write_double(j, (double)values[i]);
	json_write_close(j, ']');
}

static void put_heading(struct json_write *j, const struct calltree *flame, const struct top_options *options,
			const struct rows *rows)
{
	json_write_key(j, "unit");
	json_write_string(j, flame->unit.at, flame->unit.len);
	json_write_key(j, "period");
	json_write_string(j, flame->period.at, flame->period.len);
	json_write_key(j, "total");
	json_write_double(j, (double)rows->total);
	if (options->base) {
		json_write_key(j, "base_total");
		json_write_double(j, (double)rows->base_total);
	}
	json_write_key(j, "count");
	json_write_u32(j, rows->count);
}

int top_json(const struct calltree *flame, const struct top_options *options, struct buf *out, struct buf *why)
{
	_cleanup_(rows_done) struct rows rows = { .keys = calltree_new() };
	struct ordering ordering = { &rows, options->order };
	struct json_write j = { .b = out };
	int r = get_rows(flame, options, &rows, why);

	if (r < 0)
		return r;
	qsort_r(rows.at, rows.count, sizeof(*rows.at), compare, &ordering);
	json_write_open(&j, '{');
	put_heading(&j, flame, options, &rows);
	json_write_key(&j, "rows");
	json_write_open(&j, '[');
	for (u32 i = options->first; i < rows.count && i - options->first < options->rows_max; i++)
		put_row(&j, &rows.at[i], options->base);
	json_write_close(&j, ']');
	json_write_close(&j, '}');
	return buf_err(out);
}
