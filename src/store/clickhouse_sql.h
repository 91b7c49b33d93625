/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a store as statements for ClickHouse, about the tables of clickhouse/schema.h. Pure text: what a user
 * gave stands in it only as a literal. Each is followed by the types of its answer's columns, which
 * clickhouse_answer.h reads.
 *
 * A tree is summed up by the server. A frame is known by a hash of all that tells it from others, a node by the sum of
 * the hashes of its path's frames and their depths, so that one pass over a stack gives all of its nodes:
 *
 *	stack	main  f  g	frames	0  F(main)  F(f)  F(g)		0 is the root's
 *				nodes	0  H(F(main),1)  + H(F(f),2)  + H(F(g),3)
 */
#ifndef STORE_CLICKHOUSE_SQL_H
#define STORE_CLICKHOUSE_SQL_H

#include "clickhouse/schema.h"
#include "store/store.h"

struct store_note;

/* Label, depth from 1 on, node, parent, frame, total, self: the largest nodes_max, parents before their children. */
#define CLICKHOUSE_NODES "String, UInt32, UInt64, UInt64, UInt64, Int64, Int64"
void clickhouse_sql_nodes(const struct clickhouse_schema *schema, const struct store_selection *selection,
			  enum store_label group_by, bool by_period, u32 nodes_max, struct buf *out);

/*
 * Frame, function, file, line, address, path of the mapping, build id, type, is inlined: of these frames, of which a
 * statement has room for so many; NULL: of all.
 */
#define CLICKHOUSE_FRAMES "UInt64, String, String, UInt32, UInt64, String, String, String, UInt8"
#define CLICKHOUSE_FRAMES_MAX 20000	/* 213 KB; a server takes 256 KiB */
void clickhouse_sql_frames(const struct clickhouse_schema *schema, const struct store_selection *selection,
			   const u64 *frames, u32 count, struct buf *out);

/* The first and the last unit and period there are, by value. One row. */
#define CLICKHOUSE_UNITS "String, String, UInt64, UInt64"
void clickhouse_sql_units(const struct clickhouse_schema *schema, const struct store_selection *selection,
			  struct buf *out);

/* Is it not among the lines_max largest? Value of the label, bucket, nanoseconds of CPU (or 1e9 times the values). */
#define CLICKHOUSE_CHART "UInt8, String, UInt32, Float64"
void clickhouse_sql_chart(const struct clickhouse_schema *schema, const struct store_selection *selection,
			  enum store_label by, u32 bucket_count, u32 lines_max, struct buf *out);

/* Cell, samples in it; cells of a second stand together. */
#define CLICKHOUSE_HEAT "UInt32, UInt32"
void clickhouse_sql_heat(const struct clickhouse_schema *schema, const struct store_selection *selection, u64 from_ns,
			 u32 rows, struct buf *out);

/* Text, total; the largest first. */
#define CLICKHOUSE_VALUES "String, Int64"
void clickhouse_sql_values(const struct clickhouse_schema *schema, const struct store_selection *selection,
			   enum store_label label, u32 max, struct buf *out);

/* Trace, span, number of spans, samples, value, first and last ns, host, service, process; the largest first. */
#define CLICKHOUSE_TRACES "String, String, UInt32, UInt64, Int64, Int64, Int64, String, String, String"
void clickhouse_sql_traces(const struct clickhouse_schema *schema, const struct store_selection *selection,
			   bool by_span, u32 max, struct buf *out);

/* What a host did in a range: rows as they were written, or one for each period_ns that begins in it. */
struct clickhouse_machine_question {
	const char *host;
	u64 from_ns, to_ns;
	u64 period_ns;		/* 0: rows as they are */
	u32 rows_max;
};

/* Start, end and how many ns its rows are of, then the numbers of series_row.h; in the order of time. */
#define CLICKHOUSE_MACHINES_ROW								\
	"Int64, Int64, Float64, Float64, Float64, Float64, Float64, Float64, Float64, Float64, Float64, Float64, " \
	"Float64"
void clickhouse_sql_machines(const struct clickhouse_schema *schema, const struct clickhouse_machine_question *question,
			     struct buf *out);

/* Kind (enum series_top_kind), start, pid, name, amount (that of CPUs times ns): of each row the largest first. */
#define CLICKHOUSE_TOPS "UInt8, Int64, UInt32, String, Float64"
void clickhouse_sql_tops(const struct clickhouse_schema *schema, const struct clickhouse_machine_question *question,
			 struct buf *out);

/* Statements without an answer. A note is dropped by a second row; that of another id is none. */
void clickhouse_sql_add_note(const struct clickhouse_schema *schema, const struct store_note *note, struct buf *out);
void clickhouse_sql_drop_note(const struct clickhouse_schema *schema, s64 id, struct buf *out);

/* How many there are of this id: 1 or 0. One row. */
#define CLICKHOUSE_HAS_NOTE "UInt64"
void clickhouse_sql_has_note(const struct clickhouse_schema *schema, s64 id, struct buf *out);

/* Id, time and end in ns, kind, title, text, host, service; the last first. */
#define CLICKHOUSE_NOTE "UInt64, Int64, Int64, String, String, String, String, String"
void clickhouse_sql_notes(const struct clickhouse_schema *schema, u64 from_ns, u64 to_ns, u32 max, struct buf *out);

/* Rows about machines, the start of the last in ns, rows of notes: what tells that there are new ones. One row. */
#define CLICKHOUSE_OTHERS "UInt64, Int64, UInt64"
void clickhouse_sql_others(const struct clickhouse_schema *schema, struct buf *out);

/* Samples, first and last time in ns: from what the server knows of its files. One row. */
#define CLICKHOUSE_EXTENT "UInt64, Int64, Int64"
void clickhouse_sql_extent(const struct clickhouse_schema *schema, struct buf *out);

/* Parts of samples, bytes of all tables on disk, stacks. One row; not every user may ask. */
#define CLICKHOUSE_PARTS "UInt64, UInt64, UInt64"
void clickhouse_sql_parts(const struct clickhouse_schema *schema, struct buf *out);

#endif
