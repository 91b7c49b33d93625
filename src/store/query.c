// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/interner.h"
#include "base/saturate.h"
#include "kinds/kind.h"
#include "profile/any.h"
#include "store/chart_sums.h"
#include "store/scan.h"
#include "store/some_stacks.h"

#define VALUES_MAX (1u << 20)

static int scan_locked(struct store *base, const struct store_selection *selection, const struct scan_options *options,
		       scan_fn *fn, void *arg)
{
	struct sqlite_store *store = sqlite_store(base);
	int r;

	pthread_rwlock_rdlock(&store->lock);
	r = scan(store, selection, options, fn, arg, NULL);
	pthread_rwlock_unlock(&store->lock);
	return r;
}

/* ---- Values of a label --------------------------------------------------------------------------- */

struct values_query {
	enum store_label label;
	struct some_stacks stacks;
	struct arena arena;
	struct interner texts;
	s64 *totals;
	u32 cap;
};

/* Sums are enough for labels of series, and samples' own, if all stacks count. */
static u32 label_columns(const struct store_selection *selection, enum store_label label)
{
	u32 columns = scan_label_column(label) | (selection->narrow ? BLOCK_NODE : 0);

	return block_is_sums(columns) ? columns : columns | BLOCK_VALUE;
}

static int values_query_init(struct values_query *q, struct store *store, const struct store_selection *selection,
			     enum store_label label)
{
	*q = (struct values_query){ .label = label };
	arena_init(&q->arena, (size_t)64 << 20);
	interner_init(&q->texts, &q->arena, VALUES_MAX);
	return some_stacks_init(&q->stacks, sqlite_store(store), selection->narrow);
}

static void values_query_done(struct values_query *q)
{
	interner_done(&q->texts);
	arena_done(&q->arena);
	free(q->totals);
	some_stacks_done(&q->stacks);
}

static struct str label_text(const struct scan_row *row, enum store_label label, char scratch[SCAN_LABEL_BYTES])
{
	return label == STORE_LABEL_COUNT ? (struct str){ "", 0 } : scan_label(row, label, scratch);
}

/* Past VALUES_MAX all that come count as the first. */
static int count_text(struct values_query *q, struct str text, s64 value)
{
	u32 number = interner_add(&q->texts, text.at, text.len, NULL);

	number = number == INTERNER_NONE ? 0 : number;
	if (array_reserve(&q->totals, &q->cap, number + 1, sizeof(*q->totals)) < 0)
		return -ENOMEM;
	q->totals[number] = saturating_add(q->totals[number], value);
	return 0;
}

static int count_keys(struct values_query *q, const struct scan_row *row)
{
	struct label labels[LABELS_MAX];
	u32 count = label_sets_get(&row->rows->labels, row->row->labels, labels);
	int r = 0;

	for (u32 i = 0; i < count && r == 0; i++)
		r = count_text(q, label_name(labels[i].key), row->row->value);
	return r;
}

static int count_value(void *arg, const struct scan_row *row)
{
	struct values_query *q = arg;
	char scratch[SCAN_LABEL_BYTES];
	int r = some_stacks_has(&q->stacks, row);

	if (r <= 0)
		return r;
	if (q->label == STORE_KEYS)
		return count_keys(q, row);
	return count_text(q, label_text(row, q->label, scratch), row->row->value);
}

static int compare_values(const void *a, const void *b)
{
	const struct store_value *x = a, *y = b;

	return x->total > y->total ? -1 : x->total < y->total ? 1 : strcmp(x->text, y->text);
}

int sqlite_values(struct store *store, const struct store_selection *selection, enum store_label label, u32 max,
		  struct store_values *ret_values)
{
	_cleanup_(values_query_done) struct values_query q;
	struct scan_options options = { .columns = label_columns(selection, label), .period_max_ns = UINT64_MAX };
	struct store_values values = { 0 };
	int r = values_query_init(&q, store, selection, label);

	if (r == 0)
		r = scan_locked(store, selection, &options, count_value, &q);
	if (r < 0)
		return r;
	values.at = calloc((size_t)q.texts.count + 1, sizeof(*values.at));
	for (u32 i = 0; values.at && i < q.texts.count; i++) {
		const struct interner_entry *e = interner_get(&q.texts, i);

		values.at[i].text = strndup(e->at, e->len);
		values.at[i].total = q.totals[i];
		values.count++;
		if (!values.at[i].text)
			break;
	}
	if (!values.at || values.count < q.texts.count || (values.count && !values.at[values.count - 1].text)) {
		store_values_done(&values);
		return -ENOMEM;
	}
	qsort(values.at, values.count, sizeof(*values.at), compare_values);
	while (values.count > max)
		free(values.at[--values.count].text);
	*ret_values = values;
	return 0;
}

/* ---- Chart ----------------------------------------------------------------------------------------- */

#define PERIODS_MIN 20		/* in a bucket: a sample more or less must not show */

struct chart_query {
	const struct store_selection *selection;
	enum store_label by;
	double width_ns;	/* of a bucket */
	u64 period_ns;		/* the longest there is */
	struct chart_sums sums;
	struct some_stacks stacks;
	bool *watched;
	u64 block;		/* whose rows are added; and what they all stand for, if they have one time */
	double block_ns;
};

/* What a value is: the time that it stands for, or a second, so that values become CPUs or amounts per second. */
struct chart_weight {
	double ns;
	bool is_time;
};

static struct chart_weight weight_of(const struct dict *dict, u32 series)
{
	const struct dict_series *labels = dict_series(dict, series);
	struct str text = dict_string(dict, labels->label[STORE_PERIOD]);
	struct unit_scale scale = unit_scale(dict_string(dict, labels->label[STORE_UNIT]));
	double period = 0;

	if (scale.unit != UNIT_COUNT)
		return (struct chart_weight){ (double)scale.factor * (scale.unit == UNIT_BYTES ? 1e9 : 1),
					      scale.unit == UNIT_NANOSECONDS };
	for (u32 i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		period = period * 10 + (text.at[i] - '0');
	return (struct chart_weight){ period > 0 ? period : 1e9, period > 0 };
}

/* Spreads what was used between two times over the buckets, as far as they lie in the selection. */
static void spread(const struct chart_query *q, double used_ns, double from_ns, double to_ns, double *cells)
{
	double all = (double)(q->selection->to_ns - q->selection->from_ns);
	double start_ns = fmax(from_ns - (double)q->selection->from_ns, 0);
	double end_ns = fmin(to_ns - (double)q->selection->from_ns, all);
	u32 last = q->sums.buckets - 1;

	if (start_ns >= end_ns)
		return;
	last = end_ns / q->width_ns < last ? (u32)(end_ns / q->width_ns) : last;
	for (u32 i = (u32)(start_ns / q->width_ns); i <= last; i++) {
		double in_ns = fmin(end_ns, (i + 1) * q->width_ns) - fmax(start_ns, i * q->width_ns);

		cells[i] += used_ns / q->width_ns * fmax(in_ns, 0) / (to_ns - from_ns);
	}
}

/* All that a block's rows stand for, whatever is selected of them. */
static double whole_block(struct chart_query *q, const struct scan_row *row)
{
	if (q->block == row->block)
		return q->block_ns;
	q->block = row->block;
	q->block_ns = 0;
	for (u32 i = 0; i < row->rows->count; i++) {
		const struct block_row *at = &row->rows->rows[i];
		struct chart_weight weight = weight_of(row->dict, at->series);

		q->block_ns += weight.is_time ? (double)at->value * weight.ns : 0;
	}
	return q->block_ns;
}

static void add_cells(struct chart_query *q, const struct scan_row *row, double *cells)
{
	struct chart_weight weight = weight_of(row->dict, row->row->series);
	double used_ns = (double)row->row->value * weight.ns, at_ns = (double)row->time_ns;

	if (row->period_ns && (double)row->period_ns > q->width_ns)
		spread(q, used_ns, at_ns, at_ns + (double)row->period_ns, cells);
	else if (row->is_instant && weight.is_time && (row->rows->count > 1 || row->row->value > 1) &&
		 whole_block(q, row) > 0)
		spread(q, used_ns, at_ns, at_ns + whole_block(q, row), cells);
	else if (row->row->time_ns && weight.is_time && used_ns > 0)	/* one may count for several */
		spread(q, used_ns, at_ns - used_ns, at_ns, cells);
	else
		cells[scan_bucket(q->selection, q->sums.buckets, row->time_ns)] += used_ns / q->width_ns;
}

static int count_bucket(void *arg, const struct scan_row *row)
{
	struct chart_query *q = arg;
	char scratch[SCAN_LABEL_BYTES];
	double *cells;
	int r = some_stacks_has(&q->stacks, row);

	if (r <= 0)
		return r;
	r = chart_sums_of(&q->sums, label_text(row, q->by, scratch), &cells);
	if (r == 0)
		add_cells(q, row, cells);
	return r;
}

static void note_watched(void *arg, u64 from_ns, u64 to_ns)
{
	struct chart_query *q = arg;
	u32 last = scan_bucket(q->selection, q->sums.buckets, to_ns);

	if (to_ns < q->selection->from_ns || from_ns >= q->selection->to_ns)
		return;
	for (u32 i = scan_bucket(q->selection, q->sums.buckets, from_ns - q->period_ns); i <= last; i++)
		q->watched[i] = true;
}

/* The longest period of what is selected, whatever is left of its stacks. */
static int longest_period(struct store *store, const struct store_selection *selection, u64 *ret_ns)
{
	struct store_selection all = *selection;
	struct store_values periods;
	int r;

	all.narrow = NULL;
	r = sqlite_values(store, &all, STORE_PERIOD, UINT32_MAX, &periods);

	if (r < 0)
		return r;
	*ret_ns = 0;
	for (u32 i = 0; i < periods.count; i++) {
		u64 period_ns = strtoull(periods.at[i].text, NULL, 10);

		*ret_ns = period_ns > *ret_ns && period_ns < SECOND_NS ? period_ns : *ret_ns;
	}
	store_values_done(&periods);
	return 0;
}

static u32 fitting_buckets(const struct store_selection *selection, u32 wanted, u64 period_ns)
{
	u64 most = period_ns ? (selection->to_ns - selection->from_ns) / (PERIODS_MIN * period_ns) : wanted;

	return most < wanted ? (most ? (u32)most : 1) : wanted;
}

int sqlite_chart(struct store *store, const struct store_selection *selection, enum store_label by, u32 bucket_count,
		 u32 lines_max, struct store_chart *ret_chart)
{
	struct scan_options options = { .columns = label_columns(selection, by), .block = note_watched };
	struct chart_query q = { .selection = selection, .by = by };
	int r = longest_period(store, selection, &q.period_ns);

	if (r < 0)
		return r;
	options.buckets = fitting_buckets(selection, bucket_count, q.period_ns);
	options.slack_ns = q.period_ns;
	options.period_max_ns = (selection->to_ns - selection->from_ns) / options.buckets;
	q.width_ns = (double)(selection->to_ns - selection->from_ns) / options.buckets;
	q.watched = calloc(options.buckets, sizeof(*q.watched));
	chart_sums_init(&q.sums, options.buckets);
	r = some_stacks_init(&q.stacks, sqlite_store(store), selection->narrow);
	if (r == 0)
		r = q.watched ? scan_locked(store, selection, &options, count_bucket, &q) : -ENOMEM;
	if (r == 0)
		r = chart_sums_chart(&q.sums, lines_max, ret_chart);
	if (r == 0)
		ret_chart->watched = TAKE(q.watched);
	chart_sums_done(&q.sums);
	some_stacks_done(&q.stacks);
	free(q.watched);
	return r;
}

/* ---- Heat map ----------------------------------------------------------------------------------------- */

static int count_cell(void *arg, const struct scan_row *row)
{
	struct store_heat *heat = arg;
	u64 at_ns = row->time_ns - heat->from_ns, second = at_ns / SECOND_NS;
	u32 *cell;

	if (row->time_ns < heat->from_ns || second >= heat->seconds)
		return 0;
	cell = &heat->cells[second * heat->rows + at_ns % SECOND_NS * heat->rows / SECOND_NS];
	*cell += *cell < UINT32_MAX;
	heat->max = *cell > heat->max ? *cell : heat->max;
	return 0;
}

int sqlite_heat(struct store *store, const struct store_selection *selection, struct store_heat *heat)
{
	return scan_locked(store, selection, &(struct scan_options){ .columns = BLOCK_TIME }, count_cell, heat);
}
