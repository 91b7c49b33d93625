// SPDX-License-Identifier: Apache-2.0
#include "web/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "analysis/calltree.h"
#include "analysis/matcher.h"
#include "analysis/sums.h"

/* Frames of one name in one file are one function, whatever line they were at. */
static struct frame function_key(const struct frame *frame)
{
	return (struct frame){ .name = frame->name, .exe = frame->exe };
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

struct ordering {
	const struct calltree *flame;
	enum top_order order;
};

static int compare_numbers(s64 x, s64 y)
{
	return x > y ? -1 : x < y;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct ordering *o = arg;
	const struct sum *x = a, *y = b;
	const struct frame *f = &calltree_frames(o->flame)[x->frame], *g = &calltree_frames(o->flame)[y->frame];
	int r = o->order == TOP_BY_TOTAL ? compare_numbers(x->total, y->total) :
		o->order == TOP_BY_NAME	 ? str_compare(f->name, g->name) :
		o->order == TOP_BY_FILE	 ? str_compare(str_base_name(f->exe), str_base_name(g->exe)) :
		o->order == TOP_BY_KIND	 ? str_compare(f->type, g->type) :
					   0;

	return r ? r : sum_compare(a, b);
}

static int keep_wanted(struct sums *f, const char *part, struct buf *why)
{
	_cleanup_(freep) u16 *marks = calloc((size_t)f->tree->frames.count + 1, sizeof(*marks));
	int r = !marks ? -ENOMEM : *part ? matcher_mark(part, f->tree, 1, marks, why) : 0;
	u32 kept = 0;

	for (u32 i = 0; i < f->count && r == 0; i++) {
		u32 frame = f->at[i].frame;

		if (f->at[i].total && frame_is_function(&calltree_frames(f->tree)[frame]) && (!*part || marks[frame]))
			f->at[kept++] = f->at[i];
	}
	f->count = kept;
	return r;
}

/* ---- Rows --------------------------------------------------------------------------------- */

static void put_row(struct json_write *j, const struct frame *frame, const struct sum *sum)
{
	const struct str texts[] = { frame->name, frame->exe, frame->file, frame->type };

	json_write_open(j, '[');
	for (u32 i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_write_string(j, texts[i].at, texts[i].len);
	json_write_double(j, (double)sum->self);
	json_write_double(j, (double)sum->total);
	json_write_close(j, ']');
}

int top_json(const struct calltree *flame, const struct top_options *options, struct buf *out,
	     struct buf *why)
{
	_cleanup_(sums_done) struct sums f;
	struct ordering ordering = { flame, options->order };
	struct json_write j = { .b = out };
	int r = sums_init(&f, flame, function_key);

	if (r < 0)
		return r;
	r = keep_wanted(&f, options->part, why);
	if (r < 0)
		return r;
	qsort_r(f.at, f.count, sizeof(*f.at), compare, &ordering);
	json_write_open(&j, '{');
	json_write_key(&j, "total");
	json_write_double(&j, (double)calltree_nodes(flame)[0].total);
	json_write_key(&j, "count");
	json_write_u32(&j, f.count);
	json_write_key(&j, "rows");
	json_write_open(&j, '[');
	for (u32 i = options->first; i < f.count && i - options->first < options->rows_max; i++)
		put_row(&j, &calltree_frames(flame)[f.at[i].frame], &f.at[i]);
	json_write_close(&j, ']');
	json_write_close(&j, '}');
	return buf_err(out);
}
