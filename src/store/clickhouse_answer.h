/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a ClickHouse server to the statements of clickhouse_sql.h, as store.h gives them; trees are in
 * clickhouse_flame.h. They are from outside: -EBADMSG if they are not what was asked for. -ENOMEM.
 */
#ifndef STORE_CLICKHOUSE_ANSWER_H
#define STORE_CLICKHOUSE_ANSWER_H

#include "store/store.h"

struct tuples;

int clickhouse_answer_values(struct tuples *tuples, u32 max, struct store_values *ret_values);
int clickhouse_answer_chart(struct tuples *tuples, const struct store_selection *selection, u32 bucket_count,
			    u32 lines_max, struct store_chart *ret_chart);
int clickhouse_answer_heat(struct tuples *tuples, struct store_heat *heat);
int clickhouse_answer_traces(struct tuples *tuples, u32 max, struct store_traces *ret_traces);

struct clickhouse_extent {
	u64 samples, first_ns, last_ns;
};
int clickhouse_answer_extent(struct tuples *tuples, struct clickhouse_extent *ret_extent);

struct clickhouse_parts {
	u64 parts, bytes, stacks;
};
int clickhouse_answer_parts(struct tuples *tuples, struct clickhouse_parts *ret_parts);

#endif
