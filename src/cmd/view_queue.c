// SPDX-License-Identifier: Apache-2.0
#include "cmd/view_queue.h"

#include "analysis/queue_profile.h"
#include "base/buf.h"
#include "cmd/terminal.h"
#include "cmd/text.h"

#define BAR_COLUMNS 40

/* Where a row of the heat map ends; 0: it has no end. */
static u64 row_end_ns(u32 row)
{
	return row + 1 < QUEUE_ROWS ? 1ull << (QUEUE_ROW_SHIFT + row) : 0;
}

/* ---- For people ---- */

static void add_length(u64 ns, struct buf *out)
{
	char text[TEXT_VALUE_MAX];

	buf_addf(out, " %10s", text_value(text, (s64)(ns < INT64_MAX ? ns : INT64_MAX), UNIT_NANOSECONDS));
}

static void add_lengths(const struct queue_lengths *lengths, struct buf *out)
{
	buf_addf(out, "%10llu", (unsigned long long)lengths->count);
	add_length(lengths->sum_ns, out);
	add_length(queue_lengths_percentile(lengths, 50), out);
	add_length(queue_lengths_percentile(lengths, 99), out);
	add_length(lengths->longest_ns, out);
}

static void add_owner(const struct frame *owner, struct buf *out)
{
	s64 number = owner->tid >= 0 ? owner->tid : owner->pid;

	buf_addf(out, "  ");
	(void)text_add(out, owner->name, 60);
	if (number >= 0)
		buf_addf(out, " (%lld)", (long long)number);
	buf_addf(out, "\n");
}

/* How many waits there were of each length, those between that have none, too. */
static void add_bars(const struct queue_profile *queue, struct buf *out)
{
	const u32 *cells = queue->waits.cells;
	u32 first = 0, last = QUEUE_ROWS - 1, most = 1;

	while (first < last && !cells[first])
		first++;
	while (last > first && !cells[last])
		last--;
	for (u32 row = first; row <= last; row++)
		most = cells[row] > most ? cells[row] : most;
	buf_addf(out, "\n     below      waits\n");
	for (u32 row = first; row <= last; row++) {
		if (row_end_ns(row))
			add_length(row_end_ns(row), out);
		else
			buf_addf(out, " %10s", "longer");
		buf_addf(out, " %10u  ", cells[row]);
		for (u32 i = 0; i < (u64)cells[row] * BAR_COLUMNS / most; i++)
			buf_addf(out, "#");
		buf_addf(out, "\n");
	}
}

void view_queue(const struct terminal *terminal, const struct queue_profile *queue, u32 limit, struct buf *out)
{
	if (!queue->has_lanes) {
		buf_addf(out, "There are no lanes in this profile: record it with -e lanes.\n");
		return;
	}
	if (!queue->waits.all.count) {
		buf_addf(out, "No thread had to wait for a CPU.\n");
		return;
	}
	buf_addf(out, "%s%10s %10s %10s %10s %10s  who wanted a CPU%s\n", terminal_style(terminal, STYLE_BOLD), "waits",
		 "in all", "half below", "99% below", "longest", terminal_style(terminal, STYLE_NONE));
	add_lengths(&queue->waits.all, out);
	buf_addf(out, "  all\n");
	for (u32 i = 0; i < queue->order_count && i < limit; i++) {
		add_lengths(&queue->waits.groups[queue->order[i]], out);
		add_owner(frame_set_at(&queue->owners, queue->order[i]), out);
	}
	if (queue->order_count > limit)
		buf_addf(out, "%56s%u more\n", "", queue->order_count - limit);
	add_bars(queue, out);
}

/* ---- JSON ---- */

static void add_lengths_json(const struct queue_lengths *lengths, struct buf *out)
{
	buf_addf(out, "\"waits\": %llu, \"sum_ns\": %llu, \"median_ns\": %llu, \"p99_ns\": %llu, \"longest_ns\": %llu",
		 (unsigned long long)lengths->count, (unsigned long long)lengths->sum_ns,
		 (unsigned long long)queue_lengths_percentile(lengths, 50),
		 (unsigned long long)queue_lengths_percentile(lengths, 99), (unsigned long long)lengths->longest_ns);
}

static void add_row_json(const struct queue_profile *queue, u32 group, struct buf *out)
{
	const struct frame *owner = frame_set_at(&queue->owners, group);

	buf_addf(out, "{\"name\": ");
	text_add_json(out, owner->name);
	buf_addf(out, ", \"pid\": %lld, \"tid\": %lld, ", (long long)owner->pid, (long long)owner->tid);
	add_lengths_json(&queue->waits.groups[group], out);
	buf_addf(out, "}");
}

void view_queue_json(const struct queue_profile *queue, u32 limit, struct buf *out)
{
	buf_addf(out, "{");
	add_lengths_json(&queue->waits.all, out);
	buf_addf(out, ", \"lengths\": [");
	for (u32 row = 0; row < QUEUE_ROWS; row++)
		buf_addf(out, "%s{\"below_ns\": %llu, \"waits\": %u}", row ? ", " : "",
			 (unsigned long long)row_end_ns(row), queue->waits.cells[row]);
	buf_addf(out, "], \"rows\": [");
	for (u32 i = 0; i < queue->order_count && i < limit; i++) {
		buf_addf(out, "%s\n  ", i ? "," : "");
		add_row_json(queue, queue->order[i], out);
	}
	buf_addf(out, "]}\n");
}
