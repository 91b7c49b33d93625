// SPDX-License-Identifier: Apache-2.0
#include "store/chart_sums.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NAME_BYTES_MAX ((size_t)64 << 20)
#define OTHER "(other)"

void chart_sums_init(struct chart_sums *sums, u32 buckets)
{
	*sums = (struct chart_sums){ .buckets = buckets };
	arena_init(&sums->arena, NAME_BYTES_MAX);
	interner_init(&sums->names, &sums->arena, CHART_NAMES_MAX);
}

void chart_sums_done(struct chart_sums *sums)
{
	interner_done(&sums->names);
	arena_done(&sums->arena);
	free(sums->cells);
	free(sums->rest);
}

int chart_sums_of(struct chart_sums *sums, struct str name, double **ret_cells)
{
	u32 number = interner_add(&sums->names, name.at, name.len, NULL);

	number = number == INTERNER_NONE ? 0 : number;
	if (number > UINT32_MAX / sums->buckets - 1)
		return -E2BIG;
	if (array_reserve(&sums->cells, &sums->cell_cap, (number + 1) * sums->buckets, sizeof(*sums->cells)) < 0)
		return -ENOMEM;
	*ret_cells = sums->cells + (size_t)number * sums->buckets;
	return 0;
}

int chart_sums_rest(struct chart_sums *sums, double **ret_cells)
{
	if (!sums->rest)
		sums->rest = calloc(sums->buckets, sizeof(*sums->rest));
	*ret_cells = sums->rest;
	return sums->rest ? 0 : -ENOMEM;
}

static int compare_lines(const void *a, const void *b)
{
	const struct store_line *x = a, *y = b;

	return x->total > y->total ? -1 : x->total < y->total;
}

static int add_line(struct store_chart *chart, const char *name, size_t len, const double *cells)
{
	struct store_line *line = &chart->lines[chart->line_count++];

	line->name = strndup(name, len);
	line->buckets = calloc(chart->bucket_count, sizeof(*line->buckets));
	if (!line->name || !line->buckets)
		return -ENOMEM;
	memcpy(line->buckets, cells, chart->bucket_count * sizeof(*line->buckets));
	for (u32 b = 0; b < chart->bucket_count; b++)
		line->total += line->buckets[b];
	return 0;
}

static int make_lines(const struct chart_sums *sums, struct store_chart *chart)
{
	int r = 0;

	chart->lines = calloc((size_t)sums->names.count + 1, sizeof(*chart->lines));
	if (!chart->lines)
		return -ENOMEM;
	for (u32 i = 0; i < sums->names.count && r == 0; i++) {
		const struct interner_entry *e = interner_get(&sums->names, i);

		r = add_line(chart, e->at, e->len, sums->cells + (size_t)i * sums->buckets);
	}
	qsort(chart->lines, chart->line_count, sizeof(*chart->lines), compare_lines);
	return r == 0 && sums->rest ? add_line(chart, OTHER, strlen(OTHER), sums->rest) : r;
}

static int join_rest(struct store_chart *chart, u32 lines_max)
{
	struct store_line *rest;

	if (chart->line_count <= lines_max || !lines_max)
		return 0;
	rest = &chart->lines[lines_max - 1];
	free(rest->name);
	rest->name = strdup(OTHER);
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

int chart_sums_chart(const struct chart_sums *sums, u32 lines_max, struct store_chart *ret_chart)
{
	struct store_chart chart = { .bucket_count = sums->buckets };
	int r = make_lines(sums, &chart);

	if (r == 0)
		r = join_rest(&chart, lines_max);
	if (r < 0)
		store_chart_done(&chart);
	else
		*ret_chart = chart;
	return r;
}
