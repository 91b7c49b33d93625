// SPDX-License-Identifier: Apache-2.0
#include "web/series_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"

static void open_answer(struct json_write *j, const char *host, const char *source)
{
	json_write_open(j, '{');
	json_write_key(j, "host");
	json_write_string(j, host, strlen(host));
	json_write_key(j, "source");
	json_write_string(j, source, strlen(source));
}

static void open_list(struct json_write *j, const char *key)
{
	json_write_key(j, key);
	json_write_open(j, '[');
}

/* ---- From /proc ------------------------------------------------------------------------- */

static void put_times(struct json_write *j, const struct series_rows *rows)
{
	open_list(j, "start");
	for (u32 i = 0; i < rows->count; i++)
		json_write_double(j, (double)rows->at[i].start_ns / 1e9);
	json_write_close(j, ']');
	open_list(j, "end");
	for (u32 i = 0; i < rows->count; i++)
		json_write_double(j, (double)rows->at[i].end_ns / 1e9);
	json_write_close(j, ']');
}

static double amount_of(const struct series_top *top, const struct series_process *process)
{
	for (u32 i = 0; i < top->count; i++)
		if (top->at[i].pid == process->pid && !strcmp(top->at[i].name, process->name))
			return (double)top->at[i].amount;
	return 0;
}

/* A line for each process that had most over all of the time; 0 where it was not among the first. */
static void put_processes(struct json_write *j, const char *key, const struct series_rows *rows,
			  enum series_top_kind kind, const struct series_top *lines)
{
	double scale = kind == SERIES_BY_CPU ? series_number_scale(SERIES_BUSY) : 1;

	open_list(j, key);
	for (u32 i = 0; i < lines->count; i++) {
		json_write_open(j, '{');
		json_write_key(j, "pid");
		json_write_u32(j, lines->at[i].pid);
		json_write_key(j, "name");
		json_write_string(j, lines->at[i].name, strlen(lines->at[i].name));
		open_list(j, "values");
		for (u32 r = 0; r < rows->count; r++)
			json_write_double(j, scale * amount_of(&rows->at[r].top[kind], &lines->at[i]));
		json_write_close(j, ']');
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

int series_json(const char *host, const struct series_rows *rows, struct buf *out)
{
	struct json_write j = { .b = out };
	struct series_row all = { 0 };
	int r = rows->count ? series_row_join(rows->at, rows->count, &all) : 0;

	if (r < 0)
		return r;
	open_answer(&j, host, "proc");
	put_times(&j, rows);
	for (int n = 0; n < SERIES_NUMBER_COUNT; n++) {
		open_list(&j, series_number_name(n));
		for (u32 i = 0; i < rows->count; i++)
			json_write_double(&j, series_number_scale(n) * (double)rows->at[i].numbers[n]);
		json_write_close(&j, ']');
	}
	put_processes(&j, "by_cpu", rows, SERIES_BY_CPU, &all.top[SERIES_BY_CPU]);
	put_processes(&j, "by_memory", rows, SERIES_BY_MEMORY, &all.top[SERIES_BY_MEMORY]);
	json_write_close(&j, '}');
	return buf_err(out);
}

/* ---- From samples ------------------------------------------------------------------------- */

static void put_bounds(struct json_write *j, const char *key, u64 from_ns, u64 to_ns, u32 count, u32 shift)
{
	open_list(j, key);
	for (u32 i = 0; i < count; i++)
		json_write_double(j, ((double)from_ns + (double)(to_ns - from_ns) * (i + shift) / count) / 1e9);
	json_write_close(j, ']');
}

static void put_values(struct json_write *j, const double *values, u32 count)
{
	for (u32 i = 0; i < count; i++)
		json_write_double(j, values[i]);
}

int series_json_chart(const char *host, const struct store_chart *chart, u64 from_ns, u64 to_ns, struct buf *out)
{
	struct json_write j = { .b = out };

	open_answer(&j, host, "samples");
	put_bounds(&j, "start", from_ns, to_ns, chart->bucket_count, 0);
	put_bounds(&j, "end", from_ns, to_ns, chart->bucket_count, 1);
	open_list(&j, "busy");
	for (u32 b = 0; b < chart->bucket_count; b++) {
		double sum = 0;

		for (u32 i = 0; i < chart->line_count; i++)
			sum += chart->lines[i].buckets[b];
		json_write_double(&j, sum);
	}
	json_write_close(&j, ']');
	open_list(&j, "by_cpu");
	for (u32 i = 0; i < chart->line_count; i++) {
		json_write_open(&j, '{');
		json_write_key(&j, "name");
		json_write_string(&j, chart->lines[i].name, strlen(chart->lines[i].name));
		open_list(&j, "values");
		put_values(&j, chart->lines[i].buckets, chart->bucket_count);
		json_write_close(&j, ']');
		json_write_close(&j, '}');
	}
	json_write_close(&j, ']');
	json_write_close(&j, '}');
	return buf_err(out);
}
