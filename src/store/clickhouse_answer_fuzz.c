// SPDX-License-Identifier: Apache-2.0
/* What a server may answer instead of what it was asked for: the first byte says what that was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clickhouse/tuples.h"
#include "store/clickhouse_answer.h"
#include "store/clickhouse_flame.h"

#define HEAT_ROWS 16

static void read_flame(const uint8_t *data, size_t size, bool grouped)
{
	size_t half = size / 4 * 3;
	struct tuples nodes = { .at = cursor_of(data, half) }, frames = { .at = cursor_of(data + half, size - half) };
	struct tuples units = frames;
	struct clickhouse_flame building;
	struct calltree *flame = NULL;

	if (clickhouse_flame_init(&building) == 0 && clickhouse_flame_nodes(&building, &nodes, 1000) == 0) {
		(void)clickhouse_flame_frames(&building, &frames);
		(void)clickhouse_flame_units(&building, &units, &(bool){ false });
		(void)clickhouse_flame_finish(&building, grouped ? STORE_PROCESS : STORE_LABEL_COUNT, &flame);
	}
	for (u32 i = 1; flame && i < flame->nodes.count; i++)
		if (calltree_nodes(flame)[i].parent >= i)
			abort();
	calltree_free(flame);
	clickhouse_flame_done(&building);
}

static void read_chart(struct tuples *tuples)
{
	struct store_selection selection = { .from_ns = 1, .to_ns = 1000 };
	struct store_chart chart;

	if (clickhouse_answer_chart(tuples, &selection, 10, 5, &chart) < 0)
		return;
	if (chart.line_count > 5)
		abort();
	store_chart_done(&chart);
}

static void read_lists(struct tuples tuples)
{
	struct tuples again = tuples;
	struct store_values values;
	struct store_traces traces;

	if (clickhouse_answer_values(&tuples, 100, &values) == 0)
		store_values_done(&values);
	if (clickhouse_answer_traces(&again, 100, &traces) == 0)
		store_traces_done(&traces);
}

static void read_numbers(struct tuples tuples)
{
	u32 cells[HEAT_ROWS] = { 0 };
	struct store_heat heat = { .seconds = 1, .rows = HEAT_ROWS, .cells = cells };
	struct tuples again = tuples, once_more = tuples;
	struct clickhouse_extent extent;
	struct clickhouse_parts parts;

	(void)clickhouse_answer_heat(&tuples, &heat);
	(void)clickhouse_answer_extent(&again, &extent);
	(void)clickhouse_answer_parts(&once_more, &parts);
}

static void read_machines(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	struct tuples rows = { .at = cursor_of(data, half) }, tops = { .at = cursor_of(data + half, size - half) };
	struct clickhouse_machines machines = { 0 };
	struct series_row joined;

	if (clickhouse_answer_machines(&rows, size % 2 ? 60 : 0, 100, &machines) == 0 && machines.rows.count) {
		(void)clickhouse_answer_tops(&tops, &machines);
		(void)series_row_join(machines.rows.at, machines.rows.count, &joined);
	}
	if (machines.rows.count > 100)
		abort();
	clickhouse_machines_done(&machines);
}

static int look_at_note(void *arg, const struct store_note *note)
{
	(void)arg;
	if (strlen(note->kind) > NOTE_WORD_MAX || strlen(note->title) > NOTE_LINE_MAX ||
	    strlen(note->text) > NOTE_TEXT_MAX || strlen(note->service) > NOTE_LINE_MAX)
		abort();
	return 0;
}

static void read_notes(struct tuples tuples)
{
	struct tuples again = tuples, once_more = tuples;
	struct clickhouse_others others;
	bool has;

	(void)clickhouse_answer_notes(&tuples, 100, look_at_note, NULL);
	(void)clickhouse_answer_has_note(&again, &has);
	(void)clickhouse_answer_others(&once_more, &others);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tuples tuples;

	if (!size)
		return 0;
	tuples = (struct tuples){ .at = cursor_of(data + 1, size - 1) };
	switch (data[0] % 7) {
	case 0:
	case 1:
		read_flame(data + 1, size - 1, data[0] % 7);
		break;
	case 2:
		read_chart(&tuples);
		break;
	case 3:
		read_lists(tuples);
		break;
	case 4:
		read_numbers(tuples);
		break;
	case 5:
		read_machines(data + 1, size - 1);
		break;
	default:
		read_notes(tuples);
	}
	return 0;
}
