// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse_answer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clickhouse/tuples.h"
#include "store/clickhouse_flame.h"
#include "test.h"

static void put_text(struct buf *out, const char *text)
{
	char len = (char)strlen(text);

	buf_add(out, &len, 1);
	buf_add(out, text, strlen(text));
}

static void put_number(struct buf *out, u64 value, size_t bytes)
{
	buf_add(out, &value, bytes);
}

static void put_real(struct buf *out, double value)
{
	buf_add(out, &value, sizeof(value));
}

/* The rows are there: read from the first one on. */
static struct tuples *rows(struct tuples *tuples)
{
	tuples->at = cursor_of(tuples->body.data, tuples->body.len);
	return tuples;
}

/* ---- Lists and charts ---------------------------------------------------------------------------- */

TEST(clickhouse_answer_values_come_as_they_are_sorted)
{
	_cleanup_(tuples_done) struct tuples tuples;
	struct store_values values;

	tuples_init(&tuples, 4096);
	put_text(&tuples.body, "web");
	put_number(&tuples.body, 7, 8);
	put_text(&tuples.body, "");
	put_number(&tuples.body, (u64)-2, 8);
	EQ(clickhouse_answer_values(rows(&tuples), 1, &values), -EBADMSG);
	EQ(clickhouse_answer_values(rows(&tuples), 2, &values), 0);
	EQ(values.count, 2);
	STREQ(values.at[0].text, "web");
	EQ(values.at[0].total, 7);
	STREQ(values.at[1].text, "");
	EQ(values.at[1].total, -2);
	store_values_done(&values);
	tuples.body.len--;
	EQ(clickhouse_answer_values(rows(&tuples), 2, &values), -EBADMSG);
}

static void put_cell(struct buf *out, int is_rest, const char *name, u32 bucket, double amount)
{
	put_number(out, (u64)is_rest, 1);
	put_text(out, name);
	put_number(out, bucket, 4);
	put_real(out, amount);
}

TEST(clickhouse_answer_chart_has_the_rest_in_its_last_line)
{
	struct store_selection selection = { .from_ns = 0, .to_ns = 20 };
	_cleanup_(tuples_done) struct tuples tuples;
	struct store_chart chart;

	tuples_init(&tuples, 4096);
	put_cell(&tuples.body, 0, "b", 0, 20);
	put_cell(&tuples.body, 0, "a", 1, 50);
	put_cell(&tuples.body, 1, "", 1, 100);
	EQ(clickhouse_answer_chart(rows(&tuples), &selection, 2, 2, &chart), 0);
	EQ(chart.line_count, 2);
	STREQ(chart.lines[0].name, "a");
	OK(chart.lines[0].buckets[1] == 5);
	STREQ(chart.lines[1].name, "(other)");
	OK(chart.lines[1].buckets[0] == 2 && chart.lines[1].buckets[1] == 10);
	store_chart_done(&chart);
}

TEST(clickhouse_answer_chart_of_more_than_was_asked_for)
{
	struct store_selection selection = { .from_ns = 0, .to_ns = 20 };
	_cleanup_(tuples_done) struct tuples tuples;
	struct store_chart chart;

	tuples_init(&tuples, 4096);
	put_cell(&tuples.body, 0, "a", 2, 1);
	EQ(clickhouse_answer_chart(rows(&tuples), &selection, 2, 9, &chart), -EBADMSG);
	tuples.body.len = 0;
	put_cell(&tuples.body, 0, "a", 0, 1);
	put_cell(&tuples.body, 0, "b", 0, 1);
	EQ(clickhouse_answer_chart(rows(&tuples), &selection, 2, 1, &chart), -EBADMSG);
}

TEST(clickhouse_answer_heat_stays_in_its_cells)
{
	u32 cells[4] = { 0 };
	struct store_heat heat = { .seconds = 2, .rows = 2, .cells = cells };
	_cleanup_(tuples_done) struct tuples tuples;

	tuples_init(&tuples, 4096);
	put_number(&tuples.body, 3, 4);
	put_number(&tuples.body, 9, 4);
	EQ(clickhouse_answer_heat(rows(&tuples), &heat), 0);
	EQ(cells[3], 9);
	EQ(heat.max, 9);
	put_number(&tuples.body, 4, 4);
	put_number(&tuples.body, 1, 4);
	EQ(clickhouse_answer_heat(rows(&tuples), &heat), -EBADMSG);
}

/* ---- Machines and notes ---------------------------------------------------------------------------- */

static void put_machine(struct buf *out, u64 start_ns, u64 end_ns, double total_ns, double number)
{
	put_number(out, start_ns, 8);
	put_number(out, end_ns, 8);
	put_real(out, total_ns);
	for (u32 n = 0; n < SERIES_NUMBER_COUNT; n++)
		put_real(out, number + n);
}

static void put_top(struct buf *out, u64 kind, u64 start_ns, u32 pid, const char *name, double amount)
{
	put_number(out, kind, 1);
	put_number(out, start_ns, 8);
	put_number(out, pid, 4);
	put_text(out, name);
	put_real(out, amount);
}

TEST(clickhouse_answer_machines_are_rows_with_their_processes)
{
	_cleanup_(clickhouse_machines_done) struct clickhouse_machines machines = { 0 };
	_cleanup_(tuples_done) struct tuples tuples, tops;

	tuples_init(&tuples, 4096);
	put_machine(&tuples.body, 60, 125, 60, 1.5);
	put_machine(&tuples.body, 120, 130, 5, 0.4);
	EQ(clickhouse_answer_machines(rows(&tuples), 60, 2, &machines), 0);
	EQ(machines.rows.count, 2);
	EQ(machines.rows.at[0].start_ns, 60);
	EQ(machines.rows.at[0].end_ns, 120);
	EQ(machines.rows.at[1].end_ns, 130);
	EQ(machines.rows.at[0].numbers[SERIES_CPUS], 2);
	EQ(machines.rows.at[1].numbers[SERIES_BUSY], 1);
	tuples_init(&tops, 4096);
	put_top(&tops.body, SERIES_BY_CPU, 60, 7, "a name that is longer than a row has room for", 600);
	put_top(&tops.body, SERIES_BY_CPU, 61, 8, "of a row that came later", 600);
	put_top(&tops.body, SERIES_BY_CPU, 120, 9, "nothing", 1);
	put_top(&tops.body, SERIES_BY_MEMORY, 120, 9, "much", 1e30);
	EQ(clickhouse_answer_tops(rows(&tops), &machines), 0);
	EQ(machines.rows.at[0].top[SERIES_BY_CPU].count, 1);
	EQ(machines.rows.at[0].top[SERIES_BY_CPU].at[0].pid, 7);
	EQ(machines.rows.at[0].top[SERIES_BY_CPU].at[0].amount, 10);
	STREQ(machines.rows.at[0].top[SERIES_BY_CPU].at[0].name, "a name that is longer than a ro");
	EQ(machines.rows.at[1].top[SERIES_BY_CPU].count, 0);
	EQ(machines.rows.at[1].top[SERIES_BY_MEMORY].at[0].amount, INT64_MAX);
}

TEST(clickhouse_answer_machines_that_cannot_be)
{
	static const struct {
		u64 start_ns, end_ns;
	} bad[] = { { 60, 70 }, { 50, 70 }, { 70, 70 }, { 80, 70 }, { (u64)-5, 70 } };

	for (u32 i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		_cleanup_(clickhouse_machines_done) struct clickhouse_machines machines = { 0 };
		_cleanup_(tuples_done) struct tuples tuples;

		tuples_init(&tuples, 4096);
		put_machine(&tuples.body, 60, 65, 5, 1);
		put_machine(&tuples.body, bad[i].start_ns, bad[i].end_ns, 5, 1);
		EQ(clickhouse_answer_machines(rows(&tuples), 0, 9, &machines), -EBADMSG);
	}
}

TEST(clickhouse_answer_machines_of_more_than_was_asked_for)
{
	_cleanup_(clickhouse_machines_done) struct clickhouse_machines machines = { 0 }, cut = { 0 };
	_cleanup_(tuples_done) struct tuples tuples, tops;

	tuples_init(&tuples, 4096);
	tuples_init(&tops, 4096);
	put_machine(&tuples.body, 60, 65, 0, 0.0 / 0.0);
	EQ(clickhouse_answer_machines(rows(&tuples), 0, 1, &machines), 0);
	EQ(machines.rows.at[0].numbers[SERIES_LOAD], 0);
	EQ(clickhouse_answer_machines(rows(&tuples), 0, 1, &machines), -EBADMSG);
	for (u32 i = 0; i <= SERIES_TOP; i++)
		put_top(&tops.body, SERIES_BY_MEMORY, 60, i, "p", 5);
	EQ(clickhouse_answer_tops(rows(&tops), &machines), -EBADMSG);
	tops.body.len = 0;
	put_top(&tops.body, SERIES_TOPS, 60, 1, "p", 5);
	EQ(clickhouse_answer_tops(rows(&tops), &machines), -EBADMSG);
	tuples.body.len--;
	EQ(clickhouse_answer_machines(rows(&tuples), 0, 1, &cut), -EBADMSG);
}

static int keep_title(void *arg, const struct store_note *note)
{
	buf_addf(arg, "%lld %llu %s %zu;", note->id, note->time_ns, note->title, strlen(note->kind));
	return note->id == 3 ? -EINTR : 0;
}

static void put_note(struct buf *out, u64 id, u64 time_ns)
{
	put_number(out, id, 8);
	put_number(out, time_ns, 8);
	put_number(out, 0, 8);
	put_text(out, "a-kind-that-is-longer-than-one-may-be");
	put_text(out, "title");
	for (u32 i = 0; i < 3; i++)
		put_text(out, "");
}

TEST(clickhouse_answer_notes_are_cut_to_what_a_note_has)
{
	_cleanup_(tuples_done) struct tuples tuples;
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, 4096);
	tuples_init(&tuples, 4096);
	put_note(&tuples.body, 9, 5);
	put_note(&tuples.body, 1, (u64)-1);
	EQ(clickhouse_answer_notes(rows(&tuples), 2, keep_title, &out), 0);
	STREQ(out.data, "9 5 title 32;1 0 title 32;");
	EQ(clickhouse_answer_notes(rows(&tuples), 1, keep_title, &out), -EBADMSG);
	put_note(&tuples.body, 3, 5);
	EQ(clickhouse_answer_notes(rows(&tuples), 9, keep_title, &out), -EINTR);
	tuples.body.len--;
	EQ(clickhouse_answer_notes(rows(&tuples), 9, keep_title, &out), -EBADMSG);
}

static void put_trace(struct buf *out, const char *trace, const char *span)
{
	put_text(out, trace);
	put_text(out, span);
	put_number(out, 2, 4);
	for (u64 i = 10; i < 14; i++)
		put_number(out, i, 8);
	put_text(out, "host");
	put_text(out, "");
	put_text(out, "process");
}

TEST(clickhouse_answer_traces_leave_out_what_is_no_id)
{
	static const char id[] = "0123456789abcdef0123456789abcdef";
	_cleanup_(tuples_done) struct tuples tuples;
	struct store_traces traces;

	tuples_init(&tuples, 4096);
	put_trace(&tuples.body, id, "");
	put_trace(&tuples.body, "no", "");
	put_trace(&tuples.body, id, "0123456789abcdeX");
	EQ(clickhouse_answer_traces(rows(&tuples), 9, &traces), 0);
	EQ(traces.count, 1);
	EQ(traces.left_out, 20);
	STREQ(traces.at[0].trace, id);
	STREQ(traces.at[0].span, "");
	EQ(traces.at[0].spans, 2);
	EQ(traces.at[0].samples, 10);
	EQ(traces.at[0].value, 11);
	EQ(traces.at[0].first_ns, 12);
	EQ(traces.at[0].last_ns, 13);
	STREQ(traces.at[0].host, "host");
	store_traces_done(&traces);
}

/* ---- Trees ------------------------------------------------------------------------------------------ */

static void put_node(struct buf *out, const char *label, u32 depth, u64 node, u64 parent, u64 frame, s64 total,
		     s64 self)
{
	put_text(out, label);
	put_number(out, depth, 4);
	put_number(out, node, 8);
	put_number(out, parent, 8);
	put_number(out, frame, 8);
	put_number(out, (u64)total, 8);
	put_number(out, (u64)self, 8);
}

static void put_frame(struct buf *out, u64 frame, const char *name, u64 address)
{
	put_number(out, frame, 8);
	put_text(out, name);
	put_text(out, "a.c");
	put_number(out, 3, 4);
	put_number(out, address, 8);
	put_text(out, "/usr/lib/liba.so");
	put_text(out, "1234");
	put_text(out, "native");
	put_number(out, 1, 1);
}

static int build(struct buf *nodes, struct buf *frames, bool grouped, u32 nodes_max, struct calltree **ret_flame)
{
	_cleanup_(clickhouse_flame_done) struct clickhouse_flame building;
	struct tuples of_nodes = { .at = cursor_of(nodes->data, nodes->len) };
	struct tuples of_frames = { .at = cursor_of(frames->data, frames->len) };
	int r = clickhouse_flame_init(&building);

	if (r == 0)
		r = clickhouse_flame_nodes(&building, &of_nodes, nodes_max);
	if (r == 0)
		r = clickhouse_flame_frames(&building, &of_frames);
	return r < 0 ? r : clickhouse_flame_finish(&building, grouped ? STORE_PROCESS : STORE_LABEL_COUNT, ret_flame);
}

static void expect_node(const struct calltree *flame, u32 number, const char *name, u32 parent, s64 total, s64 self)
{
	const struct calltree_node *node = &calltree_nodes(flame)[number];
	const struct frame *frame = &calltree_frames(flame)[node->frame];

	EQ(frame->name.len, strlen(name));
	OK(!frame->name.len || !memcmp(frame->name.at, name, strlen(name)));
	EQ(node->parent, parent);
	EQ(node->total, total);
	EQ(node->self, self);
}

TEST(clickhouse_flame_wants_the_frames_of_its_nodes)
{
	_cleanup_(clickhouse_flame_done) struct clickhouse_flame building;
	_cleanup_(tuples_done) struct tuples nodes;
	u64 *frames;
	u32 count;

	EQ(clickhouse_flame_init(&building), 0);
	tuples_init(&nodes, 4096);
	put_node(&nodes.body, "", 1, 0, 0, 0, 10, 1);
	put_node(&nodes.body, "", 2, 101, 0, UINT32_MAX, 9, 5);
	put_node(&nodes.body, "", 3, 102, 101, UINT32_MAX, 4, 4);
	EQ(clickhouse_flame_nodes(&building, rows(&nodes), 9), 0);
	clickhouse_flame_wanted(&building, 1, &frames, &count);
	OK(!frames && !count);
	clickhouse_flame_wanted(&building, 2, &frames, &count);
	EQ(count, 2);
	EQ(frames[0], 0);
	EQ(frames[1], UINT32_MAX);
	free(frames);
}

TEST(clickhouse_flame_is_built_from_nodes_in_any_order)
{
	_cleanup_(buf_done) struct buf nodes, frames;
	_cleanup_(calltree_freep) struct calltree *flame = NULL;

	buf_init(&nodes, 4096);
	buf_init(&frames, 4096);
	put_node(&nodes, "", 3, 102, 101, 2, 4, 4);
	put_node(&nodes, "", 1, 0, 0, 0, 10, 1);
	put_node(&nodes, "", 2, 101, 0, 1, 9, 5);
	put_node(&nodes, "", 3, 103, 101, 9, 1, 1);	/* of a frame that nobody tells */
	put_node(&nodes, "", 4, 200, 199, 1, 7, 7);	/* of a parent that is not there */
	put_frame(&frames, 1, "main", 0);
	put_frame(&frames, 2, "", 0x120);
	put_frame(&frames, 77, "unused", 0);
	EQ(build(&nodes, &frames, false, 5, &flame), 0);
	EQ(flame->nodes.count, 4);
	expect_node(flame, 0, "", 0, 10, 1);
	expect_node(flame, 1, "main", 0, 9, 5);
	expect_node(flame, 2, "liba.so+0x120", 1, 4, 4);
	expect_node(flame, 3, "[unknown]", 1, 1, 1);
	EQ(flame->frames.count, 4);
	EQ(calltree_frames(flame)[1].line, 3);
	EQ(calltree_frames(flame)[1].source, NAME_SENT);
	OK(calltree_frames(flame)[1].is_inline);
	EQ(calltree_frames(flame)[2].source, NAME_NONE);
	EQ(calltree_frames(flame)[2].file.len, 0);
	EQ(build(&nodes, &frames, false, 4, &flame), -E2BIG);
	nodes.len--;
	EQ(build(&nodes, &frames, false, 9, &flame), -EBADMSG);
}

TEST(clickhouse_flame_has_a_tree_for_each_label)
{
	_cleanup_(buf_done) struct buf nodes, frames;
	_cleanup_(calltree_freep) struct calltree *flame = NULL;

	buf_init(&nodes, 4096);
	buf_init(&frames, 4096);
	put_node(&nodes, "web", 1, 0, 0, 0, 6, 0);
	put_node(&nodes, "web", 2, 101, 0, 1, 6, 6);
	put_node(&nodes, "", 1, 0, 0, 0, 2, 0);
	put_node(&nodes, "", 2, 101, 0, 1, 2, 2);
	put_frame(&frames, 1, "main", 0);
	EQ(build(&nodes, &frames, true, 9, &flame), 0);
	EQ(flame->nodes.count, 5);
	expect_node(flame, 0, "", 0, 8, 0);
	expect_node(flame, 1, "web", 0, 6, 0);
	expect_node(flame, 2, "(none)", 0, 2, 0);
	expect_node(flame, 3, "main", 1, 6, 6);
	expect_node(flame, 4, "main", 2, 2, 2);
}

TEST(clickhouse_flame_has_a_unit_if_there_is_one)
{
	for (int same = 0; same < 3; same++) {
		_cleanup_(clickhouse_flame_done) struct clickhouse_flame building;
		_cleanup_(tuples_done) struct tuples tuples;
		bool by_period;

		tuples_init(&tuples, 4096);
		put_text(&tuples.body, "count");
		put_text(&tuples.body, same ? "count" : "nanoseconds");
		put_number(&tuples.body, same == 2 ? 5000000 : 50000000, 8);
		put_number(&tuples.body, same ? 50000000 : 0, 8);
		EQ(clickhouse_flame_init(&building), 0);
		EQ(clickhouse_flame_units(&building, rows(&tuples), &by_period), 0);
		EQ(by_period, same == 2);
		EQ(building.flame->unit.len, same == 2 ? strlen("nanoseconds") : same ? 5 : 0);
		EQ(building.flame->period.len, same == 1 ? 8 : 0);
	}
}
