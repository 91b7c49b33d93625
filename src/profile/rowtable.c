// SPDX-License-Identifier: Apache-2.0
#include "profile/rowtable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/any.h"
#include "profile/nameless.h"

/* Rows are at most as many as the lines of all locations, which the profile bounds; this bounds their bytes. */
#define ROWTABLE_BYTES_MAX ((size_t)2 << 30)
#define ROWTABLE_ROWS_MAX (64u << 20)
#define ROWTABLE_KEY_MAX (1u << 24)

void rowtable_init(struct rowtable *table)
{
	*table = (struct rowtable){ 0 };
	arena_init(&table->arena, ROWTABLE_BYTES_MAX);
	interner_init(&table->interner, &table->arena, ROWTABLE_ROWS_MAX);
	buf_init(&table->key, ROWTABLE_KEY_MAX);
}

void rowtable_done(struct rowtable *table)
{
	interner_done(&table->interner);
	arena_done(&table->arena);
	buf_done(&table->key);
	free(table->rows);
	table->rows = NULL;
	table->count = table->cap = 0;
}

static void key_add_str(struct buf *key, struct str text)
{
	buf_add(key, &text.len, sizeof(text.len));
	if (text.len)
		buf_add(key, text.at, text.len);
}

static int rowtable_reserve(struct rowtable *table)
{
	u32 cap = table->cap ? table->cap * 2 : 64;
	void *rows;

	if (table->count < table->cap)
		return 0;
	rows = reallocarray(table->rows, cap, sizeof(*table->rows));
	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	table->cap = cap;
	return 0;
}

u32 rowtable_add(struct rowtable *table, const struct summary_row *row)
{
	s64 numbers[] = { row->line, row->pid, row->tid };
	bool is_new;
	u32 number;

	table->key.len = 0;
	key_add_str(&table->key, row->name);
	key_add_str(&table->key, row->module);
	key_add_str(&table->key, row->file);
	buf_add(&table->key, numbers, sizeof(numbers));
	if (buf_err(&table->key) < 0 || rowtable_reserve(table) < 0)
		return ROWTABLE_NONE;
	number = interner_add(&table->interner, table->key.data, table->key.len, &is_new);
	if (number == INTERNER_NONE || !is_new)
		return number;
	table->rows[table->count] = *row;
	table->rows[table->count].self = table->rows[table->count].total = 0;
	table->count++;
	return number;
}

u32 rowtable_add_owner(struct rowtable *table, s64 pid, s64 tid, struct str name)
{
	struct summary_row row = { .name = name.len ? name : STR("[unknown]"), .pid = pid, .tid = tid };

	return rowtable_add(table, &row);
}

static struct str function_name(const struct profile *profile, u32 function)
{
	const struct profile_function *f = &profile->functions.at[function];

	return profile->strings.at[f->name ? f->name : f->system_name];
}

static struct summary_row line_row(struct rowtable *table, const struct profile *profile,
				   const struct profile_location *location, const struct profile_line *line,
				   enum summary_by by)
{
	struct summary_row row = { .pid = -1, .tid = -1 };
	struct str module = profile->strings.at[profile->mappings.at[location->mapping].filename];

	if (by == SUMMARY_EXECUTABLE) {
		row.name = module.len ? module : STR("[unknown]");
		return row;
	}
	row.module = module;
	row.name = line ? function_name(profile, line->function) : (struct str){ 0 };
	if (!row.name.len)
		row.name = nameless_name(&table->arena, module, location->address);
	if (by == SUMMARY_LINE && line) {
		row.file = profile->strings.at[profile->functions.at[line->function].filename];
		row.line = line->line;
	}
	return row;
}

/* The lines of a location that count: all; the outermost if only physical functions do; none if only its file does. */
static u32 first_line(const struct profile_location *l, const struct summary_options *options)
{
	if (options->by == SUMMARY_EXECUTABLE)
		return l->line_count;
	return options->physical && l->line_count ? l->line_count - 1 : 0;
}

u32 rowtable_location_rows(const struct profile *profile, u32 location, const struct summary_options *options)
{
	const struct profile_location *l = &profile->locations.at[location];
	u32 lines = l->line_count - first_line(l, options);

	return lines ? lines : 1;
}

int rowtable_add_location(struct rowtable *table, const struct profile *profile, u32 location,
			  const struct summary_options *options, u32 *ret_rows)
{
	const struct profile_location *l = &profile->locations.at[location];
	u32 first = first_line(l, options), count = rowtable_location_rows(profile, location, options);

	for (u32 i = 0; i < count; i++) {
		const struct profile_line *line = first + i < l->line_count ? &l->lines[first + i] : NULL;
		struct summary_row row = line_row(table, profile, l, line, options->by);
		u32 number = rowtable_add(table, &row);

		if (number == ROWTABLE_NONE)
			return -ENOMEM;
		ret_rows[i] = number;
	}
	return (int)count;
}

static int compare_text(struct str a, struct str b)
{
	u32 len = a.len < b.len ? a.len : b.len;
	int r = len ? memcmp(a.at, b.at, len) : 0;

	return r ? r : (a.len > b.len) - (a.len < b.len);
}

int summary_row_compare(const struct summary_row *a, const struct summary_row *b)
{
	int r = compare_text(a->name, b->name);

	if (!r)
		r = compare_text(a->module, b->module);
	if (!r)
		r = compare_text(a->file, b->file);
	if (!r)
		r = (a->line > b->line) - (a->line < b->line);
	if (!r)
		r = (a->pid > b->pid) - (a->pid < b->pid);
	return r ? r : (a->tid > b->tid) - (a->tid < b->tid);
}

static int compare_sums(const void *left, const void *right)
{
	const struct summary_row *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return summary_row_compare(a, b);
}

int rowtable_sorted(const struct rowtable *table, struct summary_row **ret_rows, u32 *ret_count)
{
	struct summary_row *rows = calloc(table->count ? table->count : 1, sizeof(*rows));
	u32 count = 0;

	if (!rows)
		return -ENOMEM;
	for (u32 i = 0; i < table->count; i++) {
		if (table->rows[i].self || table->rows[i].total)
			rows[count++] = table->rows[i];
	}
	qsort(rows, count, sizeof(*rows), compare_sums);
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}
