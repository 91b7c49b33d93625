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
#include "profile/any.h"
#include "store/scan.h"

#define VALUES_MAX (1u << 20)

static int scan_locked(struct store *store, const struct store_selection *selection, const struct scan_options *options,
		       scan_fn *fn, void *arg)
{
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

/* The number of the row's value; past VALUES_MAX all that come count as the first. */
static int value_number(struct values_query *q, const struct scan_row *row, u32 *ret_number)
{
	char scratch[SCAN_LABEL_BYTES];
	struct str text = q->label == STORE_LABEL_COUNT ? (struct str){ "", 0 } : scan_label(row, q->label, scratch);
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

void store_values_done(struct store_values *values)
{
	for (u32 i = 0; i < values->count; i++)
		free(values->at[i].text);
	free(values->at);
	*values = (struct store_values){ 0 };
}

int store_values(struct store *store, const struct store_selection *selection, enum store_label label, u32 max,
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
	struct values_query values;
	const struct store_selection *selection;
	u32 buckets;
	double *cells;		/* by value and bucket */
	u32 cell_cap;
};

static double period_of(const struct scan_row *row)
{
	struct str text = dict_string(row->dict, dict_series(row->dict, row->row->series)->label[STORE_PERIOD]);
	struct str unit = dict_string(row->dict, dict_series(row->dict, row->row->series)->label[STORE_UNIT]);
	double period = 0;

	if (str_equal(unit, STR("nanoseconds")))
		return 1;
	for (u32 i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		period = period * 10 + (text.at[i] - '0');
	return period > 0 ? period : 1e9;
}

/* A roll-up that is longer than a bucket is spread over its period, as far as that lies in the selection. */
static void add_cells(const struct chart_query *q, const struct scan_row *row, double *cells)
{
	const struct store_selection *selection = q->selection;
	double width_ns = (double)(selection->to_ns - selection->from_ns) / q->buckets;
	double cpus = (double)row->row->value * period_of(row) / width_ns;
	u64 from_ns = row->time_ns > selection->from_ns ? row->time_ns : selection->from_ns;
	u64 to_ns = row->time_ns + row->period_ns < selection->to_ns ? row->time_ns + row->period_ns : selection->to_ns;
	u32 last;

	if ((double)row->period_ns <= width_ns) {
		cells[scan_bucket(selection, q->buckets, row->time_ns)] += cpus;
		return;
	}
	if (from_ns >= to_ns)
		return;
	last = scan_bucket(selection, q->buckets, to_ns - 1);
	for (u32 i = scan_bucket(selection, q->buckets, from_ns); i <= last; i++) {
		double start_ns = fmax((double)(from_ns - selection->from_ns), i * width_ns);
		double end_ns = fmin((double)(to_ns - selection->from_ns), (i + 1) * width_ns);

		cells[i] += cpus * fmax(end_ns - start_ns, 0) / (double)row->period_ns;
	}
}

static int count_bucket(void *arg, const struct scan_row *row)
{
	struct chart_query *q = arg;
	u32 number;
	int r = value_number(&q->values, row, &number);

	if (r < 0)
		return r;
	if (number > UINT32_MAX / q->buckets - 1)
		return -E2BIG;
	r = array_reserve(&q->cells, &q->cell_cap, (number + 1) * q->buckets, sizeof(*q->cells));
	if (r < 0)
		return r;
	add_cells(q, row, q->cells + (size_t)number * q->buckets);
	q->values.totals[number] = saturating_add(q->values.totals[number], row->row->value);
	return 0;
}

void store_chart_done(struct store_chart *chart)
{
	for (u32 i = 0; i < chart->line_count; i++) {
		free(chart->lines[i].name);
		free(chart->lines[i].buckets);
	}
	free(chart->lines);
	*chart = (struct store_chart){ 0 };
}

static int compare_lines(const void *a, const void *b)
{
	const struct store_line *x = a, *y = b;

	return x->total > y->total ? -1 : x->total < y->total;
}

static int make_lines(const struct chart_query *q, struct store_chart *chart)
{
	chart->lines = calloc((size_t)q->values.texts.count + 1, sizeof(*chart->lines));
	if (!chart->lines)
		return -ENOMEM;
	for (u32 i = 0; i < q->values.texts.count; i++) {
		const struct interner_entry *e = interner_get(&q->values.texts, i);
		struct store_line *line = &chart->lines[chart->line_count++];

		line->name = strndup(e->at, e->len);
		line->buckets = calloc(q->buckets, sizeof(*line->buckets));
		if (!line->name || !line->buckets)
			return -ENOMEM;
		memcpy(line->buckets, q->cells + (size_t)i * q->buckets, q->buckets * sizeof(*line->buckets));
		for (u32 b = 0; b < q->buckets; b++)
			line->total += line->buckets[b];
	}
	qsort(chart->lines, chart->line_count, sizeof(*chart->lines), compare_lines);
	return 0;
}

/* The lines past the limit become one. */
static int join_rest(struct store_chart *chart, u32 lines_max)
{
	struct store_line *rest;

	if (chart->line_count <= lines_max || !lines_max)
		return 0;
	rest = &chart->lines[lines_max - 1];
	free(rest->name);
	rest->name = strdup("(other)");
	for (u32 i = lines_max; i < chart->line_count; i++) {
		for (u32 b = 0; b < chart->bucket_count; b++)
			rest->buckets[b] += chart->lines[i].buckets[b];
		rest->total += chart->lines[i].total;
		free(chart->lines[i].name);
		free(chart->lines[i].buckets);
	}
	chart->line_count = lines_max;
	return rest->name ? 0 : -ENOMEM;
}

static void chart_query_done(struct chart_query *q)
{
	values_query_done(&q->values);
	free(q->cells);
}

int store_chart(struct store *store, const struct store_selection *selection, enum store_label by, u32 bucket_count,
		u32 lines_max, struct store_chart *ret_chart)
{
	_cleanup_(chart_query_done) struct chart_query q = { .selection = selection, .buckets = bucket_count };
	struct store_chart chart = { .bucket_count = bucket_count };
	struct scan_options options = { .columns = label_columns(by), .buckets = bucket_count };
	int r;

	values_query_init(&q.values, by);
	if (!bucket_count || selection->to_ns <= selection->from_ns)
		return -EINVAL;
	options.period_max_ns = (selection->to_ns - selection->from_ns) / bucket_count;
	r = scan_locked(store, selection, &options, count_bucket, &q);
	if (r == 0)
		r = make_lines(&q, &chart);
	if (r == 0)
		r = join_rest(&chart, lines_max);
	if (r < 0)
		store_chart_done(&chart);
	else
		*ret_chart = chart;
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

void store_heat_done(struct store_heat *heat)
{
	free(heat->cells);
	*heat = (struct store_heat){ 0 };
}

int store_heat(struct store *store, const struct store_selection *selection, u32 rows, struct store_heat *ret_heat)
{
	u64 from_ns = selection->from_ns - selection->from_ns % SECOND_NS;
	u64 seconds = (selection->to_ns - from_ns + SECOND_NS - 1) / SECOND_NS;
	struct store_heat heat = { .from_ns = from_ns, .rows = rows };
	int r;

	if (selection->to_ns <= from_ns || !rows || rows > 1000 || seconds > 86400)
		return -EINVAL;
	heat.seconds = (u32)seconds;
	heat.cells = calloc((size_t)seconds * rows, sizeof(*heat.cells));
	if (!heat.cells)
		return -ENOMEM;
	r = scan_locked(store, selection, &(struct scan_options){ .columns = BLOCK_TIME }, count_cell, &heat);
	if (r < 0)
		store_heat_done(&heat);
	else
		*ret_heat = heat;
	return r;
}
