/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a ClickHouse server to the statements of clickhouse_sql.h, as store.h gives them; trees are in
 * clickhouse_flame.h. They are from outside: -EBADMSG if they are not what was asked for. -ENOMEM.
 */
#ifndef STORE_CLICKHOUSE_ANSWER_H
#define STORE_CLICKHOUSE_ANSWER_H

#include "store/notes.h"
#include "store/series.h"
#include "store/store.h"

struct tuples;

int clickhouse_answer_values(struct tuples *tuples, u32 max, struct store_values *ret_values);
int clickhouse_answer_chart(struct tuples *tuples, const struct store_selection *selection, u32 bucket_count,
			    u32 lines_max, struct store_chart *ret_chart);
int clickhouse_answer_heat(struct tuples *tuples, struct store_heat *heat);
int clickhouse_answer_traces(struct tuples *tuples, u32 max, struct store_traces *ret_traces);

/* Rows about a machine, and how many ns of it each is of. Answers to clickhouse_sql_machines(), then _tops(). */
struct clickhouse_machines {
	struct series_rows rows;
	double *total_ns;
	u32 total_cap;
};
int clickhouse_answer_machines(struct tuples *tuples, u64 period_ns, u32 rows_max,
			       struct clickhouse_machines *machines);
int clickhouse_answer_tops(struct tuples *tuples, struct clickhouse_machines *machines);
void clickhouse_machines_done(struct clickhouse_machines *machines);

/* Calls fn for each, until it returns less than 0. Texts that are longer than a note's are cut. */
int clickhouse_answer_notes(struct tuples *tuples, u32 max, store_note_fn *fn, void *arg);
int clickhouse_answer_has_note(struct tuples *tuples, bool *ret_has);

struct clickhouse_extent {
	u64 samples, first_ns, last_ns;
};
int clickhouse_answer_extent(struct tuples *tuples, struct clickhouse_extent *ret_extent);

struct clickhouse_others {
	u64 machines, last_ns, notes;
};
int clickhouse_answer_others(struct tuples *tuples, struct clickhouse_others *ret_others);

struct clickhouse_parts {
	u64 parts, bytes, stacks;
};
int clickhouse_answer_parts(struct tuples *tuples, struct clickhouse_parts *ret_parts);

#endif
