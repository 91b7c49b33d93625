// SPDX-License-Identifier: Apache-2.0
#include "analysis/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "analysis/summary.h"

void difference_free(struct difference *difference)
{
	if (difference)
		free(difference->rows);
	free(difference);
}

/* The same name in another run has other process and thread numbers. */
static u32 match_frame(struct frame_set *names, const struct frame *frame)
{
	struct frame key = *frame;

	if (frame_is_label(frame))
		key.pid = key.tid = -1;
	return frame_set_add(names, &key);
}

static double share(s64 part, s64 whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Adds one side; is_after says which. */
static int add_side(struct difference *d, struct frame_set *names, const struct summary *summary, bool is_after)
{
	for (u32 i = 0; i < summary->row_count; i++) {
		u32 number = match_frame(names, summary->rows[i].frame);
		struct difference_side *side;

		if (number == FRAMES_NONE)
			return -ENOMEM;
		if (!d->rows[number].frame)
			d->rows[d->row_count++].frame = summary->rows[i].frame;
		side = is_after ? &d->rows[number].after : &d->rows[number].before;
		side->self = saturating_add(side->self, summary->rows[i].self);
		side->total = saturating_add(side->total, summary->rows[i].total);
		side->self_share = share(side->self, summary->total);
		side->total_share = share(side->total, summary->total);
	}
	return 0;
}

/* Larger first. */
static int compare_numbers(double a, double b)
{
	return (a < b) - (a > b);
}

static int compare_changes(const struct difference_row *a, double a_before, double a_after,
			   const struct difference_row *b, double b_before, double b_after)
{
	int r = compare_numbers(fabs(a_after - a_before), fabs(b_after - b_before));

	if (!r)
		r = compare_numbers(a_after, b_after);
	return r ? r : frame_compare(a->frame, b->frame);
}

static int compare_self(const void *left, const void *right)
{
	const struct difference_row *a = left, *b = right;

	return compare_changes(a, a->before.self_share, a->after.self_share, b, b->before.self_share,
			       b->after.self_share);
}

static int compare_total(const void *left, const void *right)
{
	const struct difference_row *a = left, *b = right;

	return compare_changes(a, a->before.total_share, a->after.total_share, b, b->before.total_share,
			       b->after.total_share);
}

static int difference_fill(struct difference *d, const struct summary *before, const struct summary *after)
{
	struct frame_set names;
	int r;

	frame_set_init(&names, 0);
	r = add_side(d, &names, before, false);
	if (r == 0)
		r = add_side(d, &names, after, true);
	frame_set_done(&names);
	return r;
}

int difference_new(const struct summary *before, const struct summary *after, bool by_total,
		   struct difference **ret_difference)
{
	_cleanup_(difference_freep) struct difference *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->rows = calloc((size_t)before->row_count + after->row_count + 1, sizeof(*d->rows));
	if (!d->rows)
		return -ENOMEM;
	r = difference_fill(d, before, after);
	if (r < 0)
		return r;
	qsort(d->rows, d->row_count, sizeof(*d->rows), by_total ? compare_total : compare_self);
	*ret_difference = TAKE(d);
	return 0;
}
