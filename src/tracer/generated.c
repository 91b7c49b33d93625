// SPDX-License-Identifier: Apache-2.0
#include "tracer/generated.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exe/rows_file.h"
#include "proc/maps.h"
#include "proc/processes.h"
#include "tracer/runtimes.h"
#include "tracer/tables.h"

int generated_begin(struct generated *g, struct tables *tables, const struct process *process, struct maps *maps)
{
	*g = (struct generated){ .tables = tables, .process = process, .maps = maps };
	if (runtimes_rows_order(process, 0, ~0ull)) {
		g->list = reallocarray(NULL, maps->count + 1, sizeof(*g->list));
		return g->list ? 0 : -ENOMEM;
	}
	return 0;
}

/* The one of that mapping in a list, or NULL. */
static const struct maps_rows *find(const struct maps_rows *list, u32 count, u64 start_va)
{
	u32 lo = 0, hi = count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (list[mid].start_va < start_va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < count && list[lo].start_va == start_va ? &list[lo] : NULL;
}

static int add_rows(struct generated *g, const struct mapping *m, u64 base_va, struct row_pages_range *ret_rows)
{
	struct rows *rows = NULL;
	struct rows_file *file;
	int r = runtimes_rows(g->process, m->start_va, m->end_va, base_va, &rows);

	if (r < 0)
		return r;
	file = rows_file_of(rows);
	if (!file)
		return -ENOMEM;
	return tables_add_rows(g->tables, file, m->start_va - base_va, m->end_va - base_va, ret_rows);
}

void generated_entry(struct generated *g, const struct mapping *m, struct map_entry *entry)
{
	u64 base_va = m->start_va >> PAGE_ROWS_SHIFT << PAGE_ROWS_SHIFT, length = m->end_va - m->start_va;
	u64 order = g->list ? runtimes_rows_order(g->process, m->start_va, m->end_va) : 0;
	const struct maps_rows *old = find(g->maps->rows, g->maps->rows_count, m->start_va);
	struct row_pages_range rows;

	if (!order)
		return;
	if (length > GENERATED_MAPPING_BYTES_MAX || length > GENERATED_PROCESS_BYTES_MAX - g->bytes) {
		g->left_out++;
		return;
	}
	if (old && old->end_va == m->end_va && old->order == order)
		rows = (struct row_pages_range){ old->first, old->count, old->first_number };
	else if (add_rows(g, m, base_va, &rows) < 0)
		return;
	g->list[g->count++] = (struct maps_rows){ .start_va = m->start_va, .end_va = m->end_va, .order = order,
						  .first = rows.first, .count = rows.count,
						  .first_number = rows.first_number };
	g->bytes += length;
	entry->bias = base_va;
	entry->page_base = tables_page_base(&rows);
}

/* Drops those of a list that are not in the other. */
static void drop_but(struct tables *tables, const struct maps_rows *list, u32 count, const struct maps_rows *kept,
		     u32 kept_count, u64 now_ns)
{
	for (u32 i = 0; i < count; i++) {
		const struct maps_rows *same = find(kept, kept_count, list[i].start_va);

		if (!same || same->first != list[i].first)
			tables_drop_rows(tables, &(struct row_pages_range){ list[i].first, list[i].count, 0 }, now_ns);
	}
}

u32 generated_end(struct generated *g, int r, u64 now_ns)
{
	struct maps *maps = g->maps;
	u32 left_out_before = maps->rows_left_out;

	if (r < 0) {
		drop_but(g->tables, g->list, g->count, maps->rows, maps->rows_count, now_ns);
		free(TAKE(g->list));
		return 0;
	}
	drop_but(g->tables, maps->rows, maps->rows_count, g->list, g->count, now_ns);
	free(maps->rows);
	maps->rows = TAKE(g->list);
	maps->rows_count = g->count;
	maps->rows_left_out = g->left_out;
	return g->left_out > left_out_before ? g->left_out - left_out_before : 0;
}

void generated_drop(struct tables *tables, struct maps *maps, u64 now_ns)
{
	drop_but(tables, maps->rows, maps->rows_count, NULL, 0, now_ns);
	free(TAKE(maps->rows));
	maps->rows_count = maps->rows_left_out = 0;
}
