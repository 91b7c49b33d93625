// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse_answer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hex.h"
#include "clickhouse/tuples.h"
#include "store/chart_sums.h"

static char *copy_text(struct str text)
{
	return strndup(text.len ? text.at : "", text.len);
}

static u64 time_of(s64 time_ns)
{
	return time_ns > 0 ? (u64)time_ns : 0;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int read_value(struct tuples *tuples, struct store_values *values, u32 *cap)
{
	struct store_value *value;

	if (array_reserve(&values->at, cap, values->count + 1, sizeof(*values->at)) < 0)
		return -ENOMEM;
	value = &values->at[values->count];
	value->text = copy_text(tuples_text(tuples));
	value->total = tuples_int(tuples, 8);
	if (!value->text)
		return -ENOMEM;
	values->count++;
	return 0;
}

int clickhouse_answer_values(struct tuples *tuples, u32 max, struct store_values *ret_values)
{
	struct store_values values = { 0 };
	u32 cap = 0;
	int r = 0;

	while (r == 0 && tuples_next(tuples))
		r = values.count < max ? read_value(tuples, &values, &cap) : -EBADMSG;
	if (r == 0)
		r = tuples_err(tuples);
	if (r < 0)
		store_values_done(&values);
	else
		*ret_values = values;
	return r;
}

/* ---- Charts ---------------------------------------------------------------------------------- */

/* The server names as many lines as it was asked for: each takes memory for all its buckets. */
static int read_cell(struct tuples *tuples, struct chart_sums *sums, double width_ns, u32 lines_max)
{
	bool is_rest = tuples_uint(tuples, 1);
	struct str name = tuples_text(tuples);
	u32 bucket = (u32)tuples_uint(tuples, 4);
	double amount = tuples_real(tuples), *cells;
	int r;

	if (tuples_err(tuples) < 0 || bucket >= sums->buckets)
		return -EBADMSG;
	r = is_rest ? chart_sums_rest(sums, &cells) : chart_sums_of(sums, name, &cells);
	if (r == 0 && sums->names.count > lines_max)
		r = -EBADMSG;
	if (r == 0)
		cells[bucket] += amount / width_ns;
	return r;
}

int clickhouse_answer_chart(struct tuples *tuples, const struct store_selection *selection, u32 bucket_count,
			    u32 lines_max, struct store_chart *ret_chart)
{
	double width_ns = (double)(selection->to_ns - selection->from_ns) / bucket_count;
	struct chart_sums sums;
	int r = 0;

	chart_sums_init(&sums, bucket_count);
	while (r == 0 && tuples_next(tuples))
		r = read_cell(tuples, &sums, width_ns, lines_max);
	if (r == 0)
		r = chart_sums_chart(&sums, lines_max, ret_chart);
	chart_sums_done(&sums);
	return r;
}

int clickhouse_answer_heat(struct tuples *tuples, struct store_heat *heat)
{
	while (tuples_next(tuples)) {
		u32 cell = (u32)tuples_uint(tuples, 4), count = (u32)tuples_uint(tuples, 4);

		if (cell >= (size_t)heat->seconds * heat->rows)
			return -EBADMSG;
		heat->cells[cell] = count;
		heat->max = count > heat->max ? count : heat->max;
	}
	return tuples_err(tuples);
}

/* ---- Traces ---------------------------------------------------------------------------------- */

/* Ids are digits of a fixed number, or "". */
static bool copy_id(struct str text, char *ret_id, size_t digits)
{
	if (text.len && text.len != digits)
		return false;
	for (u32 i = 0; i < text.len; i++)
		if (hex_digit(text.at[i]) < 0)
			return false;
	if (text.len)
		memcpy(ret_id, text.at, text.len);
	ret_id[text.len] = '\0';
	return true;
}

/* Who else writes to the table may call traces otherwise: those are left out. */
static int read_trace(struct tuples *tuples, struct store_traces *traces, u32 *cap)
{
	struct store_trace trace = { 0 };
	bool is_known = copy_id(tuples_text(tuples), trace.trace, sizeof(trace.trace) - 1);

	is_known &= copy_id(tuples_text(tuples), trace.span, sizeof(trace.span) - 1);
	trace.spans = (u32)tuples_uint(tuples, 4);
	trace.samples = tuples_uint(tuples, 8);
	trace.value = tuples_int(tuples, 8);
	trace.first_ns = time_of(tuples_int(tuples, 8));
	trace.last_ns = time_of(tuples_int(tuples, 8));
	trace.host = copy_text(tuples_text(tuples));
	trace.service = copy_text(tuples_text(tuples));
	trace.process = copy_text(tuples_text(tuples));
	if (!trace.host || !trace.service || !trace.process ||
	    array_reserve(&traces->at, cap, traces->count + 1, sizeof(*traces->at)) < 0) {
		store_trace_done(&trace);
		return -ENOMEM;
	}
	if (is_known) {
		traces->at[traces->count++] = trace;
	} else {
		traces->left_out += trace.samples;
		store_trace_done(&trace);
	}
	return 0;
}

int clickhouse_answer_traces(struct tuples *tuples, u32 max, struct store_traces *ret_traces)
{
	struct store_traces traces = { 0 };
	u32 cap = 0;
	int r = 0;

	while (r == 0 && tuples_next(tuples))
		r = traces.count < max ? read_trace(tuples, &traces, &cap) : -EBADMSG;
	if (r == 0)
		r = tuples_err(tuples);
	if (r < 0)
		store_traces_done(&traces);
	else
		*ret_traces = traces;
	return r;
}

/* ---- Machines ---------------------------------------------------------------------------------- */

/* Anything may be in the tables. */
static u64 whole(double value)
{
	return !(value > 0) ? 0 : value < 0x1p63 ? (u64)(value + 0.5) : INT64_MAX;
}

void clickhouse_machines_done(struct clickhouse_machines *machines)
{
	series_rows_done(&machines->rows);
	free(machines->total_ns);
}

static int read_machine(struct tuples *tuples, u64 period_ns, struct clickhouse_machines *machines)
{
	struct series_rows *rows = &machines->rows;
	s64 start_ns = tuples_int(tuples, 8), end_ns = tuples_int(tuples, 8);
	struct series_row *row;

	if (start_ns < 0 || end_ns <= start_ns || (rows->count && (u64)start_ns <= rows->at[rows->count - 1].start_ns))
		return -EBADMSG;
	if (array_reserve(&rows->at, &rows->cap, rows->count + 1, sizeof(*rows->at)) < 0 ||
	    array_reserve(&machines->total_ns, &machines->total_cap, rows->count + 1, sizeof(double)) < 0)
		return -ENOMEM;
	row = &rows->at[rows->count];
	*row = (struct series_row){ .start_ns = (u64)start_ns, .end_ns = (u64)end_ns };
	/* The last window of a period may have ended a little later. */
	if (period_ns && row->end_ns - row->start_ns > period_ns)
		row->end_ns = row->start_ns + period_ns;
	machines->total_ns[rows->count++] = tuples_real(tuples);
	for (u32 n = 0; n < SERIES_NUMBER_COUNT; n++)
		row->numbers[n] = whole(tuples_real(tuples));
	return tuples_err(tuples);
}

int clickhouse_answer_machines(struct tuples *tuples, u64 period_ns, u32 rows_max, struct clickhouse_machines *machines)
{
	int r = 0;

	while (r == 0 && tuples_next(tuples))
		r = machines->rows.count < rows_max ? read_machine(tuples, period_ns, machines) : -EBADMSG;
	return r < 0 ? r : tuples_err(tuples);
}

static int compare_start(const void *a, const void *b)
{
	u64 start_ns = *(const u64 *)a;
	const struct series_row *row = b;

	return start_ns < row->start_ns ? -1 : start_ns > row->start_ns;
}

static void copy_name(struct str text, char ret_name[SERIES_NAME_BYTES])
{
	size_t len = text.len < SERIES_NAME_BYTES ? text.len : SERIES_NAME_BYTES - 1;

	memcpy(ret_name, text.at, strnlen(text.at, len));
}

/* Of rows that came between the two questions the numbers are not known: those are left out. */
static int read_top(struct tuples *tuples, struct clickhouse_machines *machines)
{
	const struct series_rows *rows = &machines->rows;
	u64 kind = tuples_uint(tuples, 1), start_ns = (u64)tuples_int(tuples, 8);
	struct series_process process = { .pid = (u32)tuples_uint(tuples, 4) };
	struct series_row *row = rows->count ? bsearch(&start_ns, rows->at, rows->count, sizeof(*row), compare_start) :
					       NULL;
	double amount;

	copy_name(tuples_text(tuples), process.name);
	amount = tuples_real(tuples);
	if (tuples_err(tuples) < 0 || kind >= SERIES_TOPS)
		return -EBADMSG;
	if (!row)
		return 0;
	process.amount = whole(kind == SERIES_BY_CPU ? amount / machines->total_ns[row - rows->at] : amount);
	if (row->top[kind].count >= SERIES_TOP)
		return -EBADMSG;
	if (process.amount)
		row->top[kind].at[row->top[kind].count++] = process;
	return 0;
}

int clickhouse_answer_tops(struct tuples *tuples, struct clickhouse_machines *machines)
{
	int r = 0;

	while (r == 0 && tuples_next(tuples))
		r = read_top(tuples, machines);
	return r < 0 ? r : tuples_err(tuples);
}

/* ---- Notes ------------------------------------------------------------------------------------- */

static const char *read_cut(struct tuples *tuples, char *room, size_t most)
{
	struct str text = tuples_text(tuples);
	size_t len = strnlen(text.at, text.len < most ? text.len : most);

	memcpy(room, text.at, len);
	room[len] = '\0';
	return room;
}

static int read_note(struct tuples *tuples, store_note_fn *fn, void *arg)
{
	char kind[NOTE_WORD_MAX + 1], title[NOTE_LINE_MAX + 1], host[NOTE_LINE_MAX + 1], service[NOTE_LINE_MAX + 1];
	char text[NOTE_TEXT_MAX + 1];
	struct store_note note = { .id = (s64)tuples_uint(tuples, 8) };

	note.time_ns = time_of(tuples_int(tuples, 8));
	note.end_ns = time_of(tuples_int(tuples, 8));
	note.kind = read_cut(tuples, kind, NOTE_WORD_MAX);
	note.title = read_cut(tuples, title, NOTE_LINE_MAX);
	note.text = read_cut(tuples, text, NOTE_TEXT_MAX);
	note.host = read_cut(tuples, host, NOTE_LINE_MAX);
	note.service = read_cut(tuples, service, NOTE_LINE_MAX);
	return tuples_err(tuples) < 0 ? tuples_err(tuples) : fn(arg, &note);
}

int clickhouse_answer_notes(struct tuples *tuples, u32 max, store_note_fn *fn, void *arg)
{
	u32 count = 0;
	int r = 0;

	while (r >= 0 && tuples_next(tuples))
		r = count++ < max ? read_note(tuples, fn, arg) : -EBADMSG;
	return r < 0 ? r : tuples_err(tuples);
}

int clickhouse_answer_has_note(struct tuples *tuples, bool *ret_has)
{
	u64 count = tuples_uint(tuples, 8);

	if (tuples_err(tuples) == 0)
		*ret_has = count;
	return tuples_err(tuples);
}

/* ---- What there is ----------------------------------------------------------------------------- */

int clickhouse_answer_extent(struct tuples *tuples, struct clickhouse_extent *ret_extent)
{
	u64 samples = tuples_uint(tuples, 8);
	u64 first_ns = time_of(tuples_int(tuples, 8)), last_ns = time_of(tuples_int(tuples, 8));

	if (tuples_err(tuples) == 0)
		*ret_extent = (struct clickhouse_extent){ samples, first_ns, last_ns };
	return tuples_err(tuples);
}

int clickhouse_answer_others(struct tuples *tuples, struct clickhouse_others *ret_others)
{
	u64 machines = tuples_uint(tuples, 8), last_ns = time_of(tuples_int(tuples, 8)), notes = tuples_uint(tuples, 8);

	if (tuples_err(tuples) == 0)
		*ret_others = (struct clickhouse_others){ machines, last_ns, notes };
	return tuples_err(tuples);
}

int clickhouse_answer_parts(struct tuples *tuples, struct clickhouse_parts *ret_parts)
{
	u64 parts = tuples_uint(tuples, 8), bytes = tuples_uint(tuples, 8), stacks = tuples_uint(tuples, 8);

	if (tuples_err(tuples) == 0)
		*ret_parts = (struct clickhouse_parts){ parts, bytes, stacks };
	return tuples_err(tuples);
}
