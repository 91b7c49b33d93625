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
	struct arena arena;
	struct interner texts;
	s64 *totals;
	u32 cap;
};

/* Sums of series are enough for their labels. */
static u32 label_columns(enum store_label label)
{
	u32 column = scan_label_column(label);

	return column ? column | BLOCK_VALUE : BLOCK_SUMS;
}

static void values_query_init(struct values_query *q, enum store_label label)
{
	*q = (struct values_query){ .label = label };
	arena_init(&q->arena, (size_t)64 << 20);
	interner_init(&q->texts, &q->arena, VALUES_MAX);
}

static void values_query_done(struct values_query *q)
{
	interner_done(&q->texts);
	arena_done(&q->arena);
	free(q->totals);
}

static struct str label_text(const struct scan_row *row, enum store_label label, char scratch[SCAN_LABEL_BYTES])
{
	return label == STORE_LABEL_COUNT ? (struct str){ "", 0 } : scan_label(row, label, scratch);
}

/* The number of the row's value; past VALUES_MAX all that come count as the first. */
static int value_number(struct values_query *q, const struct scan_row *row, u32 *ret_number)
{
	char scratch[SCAN_LABEL_BYTES];
	struct str text = label_text(row, q->label, scratch);
	u32 number = interner_add(&q->texts, text.at, text.len, NULL);

	*ret_number = number == INTERNER_NONE ? 0 : number;
	return array_reserve(&q->totals, &q->cap, *ret_number + 1, sizeof(*q->totals));
}

static int count_value(void *arg, const struct scan_row *row)
{
	struct values_query *q = arg;
	u32 number;
	int r = value_number(q, row, &number);

	if (r == 0)
		q->totals[number] = saturating_add(q->totals[number], row->row->value);
	return r;
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
	struct scan_options options = { .columns = label_columns(label), .period_max_ns = UINT64_MAX };
	struct store_values values = { 0 };
	int r;

	values_query_init(&q, label);
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

struct chart_query {
	const struct store_selection *selection;
	enum store_label by;
	struct chart_sums sums;
};

/* What a value is: the time that it stands for, or a second, so that values become CPUs or amounts per second. */
static double weight_of(const struct scan_row *row)
{
	struct str text = dict_string(row->dict, dict_series(row->dict, row->row->series)->label[STORE_PERIOD]);
	struct str unit = dict_string(row->dict, dict_series(row->dict, row->row->series)->label[STORE_UNIT]);
	struct unit_scale scale = unit_scale(unit);
	double period = 0;

	if (scale.unit != UNIT_COUNT)
		return (double)scale.factor * (scale.unit == UNIT_BYTES ? 1e9 : 1);
	for (u32 i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		period = period * 10 + (text.at[i] - '0');
	return period > 0 ? period : 1e9;
}

/* A roll-up that is longer than a bucket is spread over its period, as far as that lies in the selection. */
static void add_cells(const struct chart_query *q, const struct scan_row *row, double *cells)
{
	const struct store_selection *selection = q->selection;
	double width_ns = (double)(selection->to_ns - selection->from_ns) / q->sums.buckets;
	double cpus = (double)row->row->value * weight_of(row) / width_ns;
	u64 from_ns = row->time_ns > selection->from_ns ? row->time_ns : selection->from_ns;
	u64 to_ns = row->time_ns + row->period_ns < selection->to_ns ? row->time_ns + row->period_ns : selection->to_ns;
	u32 last;

	if ((double)row->period_ns <= width_ns) {
		cells[scan_bucket(selection, q->sums.buckets, row->time_ns)] += cpus;
		return;
	}
	if (from_ns >= to_ns)
		return;
	last = scan_bucket(selection, q->sums.buckets, to_ns - 1);
	for (u32 i = scan_bucket(selection, q->sums.buckets, from_ns); i <= last; i++) {
		double start_ns = fmax((double)(from_ns - selection->from_ns), i * width_ns);
		double end_ns = fmin((double)(to_ns - selection->from_ns), (i + 1) * width_ns);

		cells[i] += cpus * fmax(end_ns - start_ns, 0) / (double)row->period_ns;
	}
}

static int count_bucket(void *arg, const struct scan_row *row)
{
	struct chart_query *q = arg;
	char scratch[SCAN_LABEL_BYTES];
	double *cells;
	int r = chart_sums_of(&q->sums, label_text(row, q->by, scratch), &cells);

	if (r == 0)
		add_cells(q, row, cells);
	return r;
}

int sqlite_chart(struct store *store, const struct store_selection *selection, enum store_label by, u32 bucket_count,
		 u32 lines_max, struct store_chart *ret_chart)
{
	struct scan_options options = { .columns = label_columns(by), .buckets = bucket_count };
	struct chart_query q = { .selection = selection, .by = by };
	int r;

	chart_sums_init(&q.sums, bucket_count);
	options.period_max_ns = (selection->to_ns - selection->from_ns) / bucket_count;
	r = scan_locked(store, selection, &options, count_bucket, &q);
	if (r == 0)
		r = chart_sums_chart(&q.sums, lines_max, ret_chart);
	chart_sums_done(&q.sums);
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
