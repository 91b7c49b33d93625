// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse_sql.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "clickhouse/sql.h"
#include "store/notes.h"
#include "store/series.h"

/* The last day that a Date has, in 2149: toDate() of a later time may be any day. A DateTime64(9) has some more. */
#define TIME_MAX_NS (65535ull * 86400 * SECOND_NS)
#define NANOSECONDS "toUnixTimestamp64Nano(Timestamp)"

/* ---- Labels ------------------------------------------------------------------------------- */

/* A label is the text of a column; that of a number is "" for the one which says that it is not known. */
static const struct label_column {
	enum samples_column column;
	const char *unknown;	/* NULL: it is text */
	const char *key;	/* of a map; NULL: it is none */
} label_columns[STORE_LABEL_COUNT] = {
	[STORE_HOST] = { SAMPLES_HOST, NULL, NULL },
	[STORE_SERVICE] = { SAMPLES_SERVICE, NULL, NULL },
	[STORE_NAMESPACE] = { SAMPLES_NAMESPACE, NULL, NULL },
	[STORE_POD] = { SAMPLES_POD, NULL, NULL },
	[STORE_CONTAINER] = { SAMPLES_CONTAINER, NULL, NULL },
	[STORE_PROCESS] = { SAMPLES_PROCESS, NULL, NULL },
	[STORE_EXECUTABLE] = { SAMPLES_EXECUTABLE, NULL, NULL },
	[STORE_PID] = { SAMPLES_PID, "0", NULL },
	[STORE_TYPE] = { SAMPLES_SAMPLE_TYPE, NULL, NULL },
	[STORE_UNIT] = { SAMPLES_SAMPLE_UNIT, NULL, NULL },
	[STORE_PERIOD] = { SAMPLES_PERIOD, "0", NULL },
	[STORE_WAIT] = { SAMPLES_ATTRIBUTES, NULL, "wait.reason" },
	[STORE_THREAD] = { SAMPLES_THREAD, NULL, NULL },
	[STORE_TID] = { SAMPLES_TID, "0", NULL },
	[STORE_CPU] = { SAMPLES_CPU, "-1", NULL },
	[STORE_TRACE] = { SAMPLES_TRACE, NULL, NULL },
	[STORE_SPAN] = { SAMPLES_SPAN, NULL, NULL },
};

static const char *label_name(enum store_label label)
{
	u32 count;

	return clickhouse_columns(CLICKHOUSE_SAMPLES, &count)[label_columns[label].column].name;
}

static void add_label(struct buf *out, enum store_label label)
{
	const struct label_column *l = &label_columns[label];
	const char *name;

	if (label == STORE_LABEL_COUNT) {
		buf_addf(out, "''");
		return;
	}
	name = label_name(label);
	if (l->key)
		buf_addf(out, "toString(%s['%s'])", name, l->key);
	else if (l->unknown)
		buf_addf(out, "if(%s = %s, '', toString(%s))", name, l->unknown, name);
	else
		buf_addf(out, "toString(%s)", name);
}

/* ---- The selection ------------------------------------------------------------------------ */

static void add_time(struct buf *out, u64 time_ns)
{
	buf_addf(out, "fromUnixTimestamp64Nano(%llu, 'UTC')", time_ns < TIME_MAX_NS ? time_ns : TIME_MAX_NS);
}

static void add_filter(struct buf *out, const struct store_filter *filter)
{
	static const char *const operators[] = { [STORE_EQUAL] = " = ", [STORE_NOT_EQUAL] = " != ",
						 [STORE_CONTAINS] = ", " };
	const struct label_column *l = &label_columns[filter->label];
	bool is_part = filter->match == STORE_CONTAINS;

	buf_addf(out, is_part ? " AND position(" : " AND ");
	/* The column itself, where it is text: the server finds it by its index. */
	if (l->key || l->unknown)
		add_label(out, filter->label);
	else
		buf_addf(out, "%s", label_name(filter->label));
	buf_addf(out, "%s", operators[filter->match]);
	sql_add_literal(out, filter->value, strlen(filter->value));
	buf_addf(out, is_part ? ") > 0" : "");
}

static void add_filters(struct buf *out, const struct store_selection *selection)
{
	for (u32 i = 0; i < selection->filter_count; i++)
		add_filter(out, &selection->filters[i]);
}

/* FROM the samples WHERE they are in it. */
static void add_selected(struct buf *out, const struct clickhouse_schema *schema,
			 const struct store_selection *selection)
{
	buf_addf(out, "FROM ");
	clickhouse_add_table(schema, CLICKHOUSE_SAMPLES, out);
	buf_addf(out, " WHERE Timestamp >= ");
	add_time(out, selection->from_ns);
	buf_addf(out, " AND Timestamp < ");
	add_time(out, selection->to_ns);
	add_filters(out, selection);
}

/* ---- Whole minutes --------------------------------------------------------------------------- */

#define MINUTE_NS (60 * SECOND_NS)
#define MINUTES_NS_MIN (5 * MINUTE_NS)		/* less is not worth a second look */
#define MINUTES_NS_MAX (4294967280 * SECOND_NS)	/* the last that a DateTime has */

/* Has the table's projection it? STORE_LABEL_COUNT: nothing is asked for. */
static bool is_summed(enum store_label label)
{
	return label == STORE_LABEL_COUNT || label == STORE_SERVICE || label == STORE_NAMESPACE ||
	       label == STORE_PROCESS || label == STORE_EXECUTABLE || label == STORE_TYPE || label == STORE_UNIT ||
	       label == STORE_PERIOD;
}

/* Those of the selection, if the server may answer from its sums. */
static bool find_minutes(const struct store_selection *selection, enum store_label label, u64 *ret_from, u64 *ret_to)
{
	u64 from_ns = selection->from_ns < MINUTES_NS_MAX ? selection->from_ns + MINUTE_NS - 1 : MINUTES_NS_MAX;
	u64 to_ns = selection->to_ns < MINUTES_NS_MAX ? selection->to_ns : MINUTES_NS_MAX;
	bool is_all_summed = is_summed(label);

	for (u32 i = 0; i < selection->filter_count; i++)
		is_all_summed &= is_summed(selection->filters[i].label);
	*ret_from = from_ns - from_ns % MINUTE_NS;
	*ret_to = to_ns - to_ns % MINUTE_NS;
	return is_all_summed && *ret_from + MINUTES_NS_MIN <= *ret_to;
}

/* What is not whole minutes, or nothing. */
static void add_edges(struct buf *out, const struct clickhouse_schema *schema, const struct store_selection *selection,
		      u64 from_ns, u64 to_ns)
{
	const u64 edges[2][2] = { { selection->from_ns, from_ns }, { to_ns, selection->to_ns } };
	const char *before = "(";

	clickhouse_add_table(schema, CLICKHOUSE_SAMPLES, out);
	buf_addf(out, " WHERE ");
	for (u32 i = 0; i < 2; i++) {
		buf_addf(out, "%sTimestamp >= ", before);
		add_time(out, edges[i][0]);
		buf_addf(out, " AND Timestamp < ");
		add_time(out, edges[i][1]);
		before = " OR ";
	}
	buf_addf(out, ")");
	add_filters(out, selection);
}

/* In words that the projection has; those about five minutes are for tables without it. */
static void add_minutes(struct buf *out, const struct clickhouse_schema *schema,
			const struct store_selection *selection, u64 from_ns, u64 to_ns)
{
	u64 from_s = from_ns / SECOND_NS, to_s = to_ns / SECOND_NS;

	clickhouse_add_table(schema, CLICKHOUSE_SAMPLES, out);
	buf_addf(out, " WHERE toStartOfFiveMinutes(Timestamp) >= toDateTime(%llu, 'UTC') AND "
		      "toStartOfFiveMinutes(Timestamp) <= toDateTime(%llu, 'UTC') AND "
		      "toStartOfMinute(Timestamp) >= toDateTime(%llu, 'UTC') AND "
		      "toStartOfMinute(Timestamp) < toDateTime(%llu, 'UTC')", from_s - from_s % 300,
		 to_s - to_s % 300, from_s, to_s);
	add_filters(out, selection);
}

/* SELECT columns of samples GROUP BY keys; a key may be there twice, once for whole minutes. label: that is in it. */
static void add_grouped(struct buf *out, const struct clickhouse_schema *schema,
			const struct store_selection *selection, enum store_label label, const char *before_label,
			const char *after_label, const char *keys)
{
	u64 from_ns, to_ns;
	bool has_minutes = find_minutes(selection, label, &from_ns, &to_ns);

	for (int minutes = 0; minutes <= has_minutes; minutes++) {
		buf_addf(out, "%sSELECT %s", minutes ? " UNION ALL " : "", before_label);
		if (*after_label)
			add_label(out, label);
		buf_addf(out, "%s ", after_label);
		if (!has_minutes) {
			add_selected(out, schema, selection);
		} else {
			buf_addf(out, "FROM ");
			(minutes ? add_minutes : add_edges)(out, schema, selection, from_ns, to_ns);
		}
		buf_addf(out, " GROUP BY %s", keys);
	}
}

/* FROM the stacks of those samples, some of them several times. */
static void add_stacks(struct buf *out, const struct clickhouse_schema *schema,
		       const struct store_selection *selection)
{
	buf_addf(out, "FROM ");
	clickhouse_add_table(schema, CLICKHOUSE_STACKS, out);
	buf_addf(out, " WHERE Day >= toDate(");
	add_time(out, selection->from_ns);
	buf_addf(out, ") AND Day <= toDate(");
	add_time(out, selection->to_ns);
	buf_addf(out, ") AND StackHash IN (");
	add_grouped(out, schema, selection, STORE_LABEL_COUNT, "StackHash", "", "StackHash");
	buf_addf(out, ")");
}

/* ---- Flame graphs --------------------------------------------------------------------------- */

/* Where there is a name it does not matter at which address of its function a sample was taken. */
#define FRAME_HASHES								\
	"arrayMap((f, s, l, a, m, b, t, d) -> cityHash64(f, s, l, if(f = '', a, 0), m, b, toString(t), d > 0), " \
	"Functions, Files, StartLines, Addresses, Mappings, BuildIds, FrameTypes, InlineDepths)"

void clickhouse_sql_nodes(const struct clickhouse_schema *schema, const struct store_selection *selection,
			  enum store_label group_by, bool by_period, u32 nodes_max, struct buf *out)
{
	buf_addf(out, "SELECT Label, toUInt32(Depth), Node, Parent, Frame, toInt64(sum(Total)) AS NodeTotal, "
		      "toInt64(sumIf(Total, Depth = length(Frames))) FROM (SELECT Label, Total, "
		      "arrayPushFront(arrayReverse(Hashes), 0) AS Frames, "
		      "arrayPushFront(arrayCumSum(arrayMap((f, i) -> cityHash64(f, i), arrayReverse(Hashes), "
		      "arrayEnumerate(Hashes))), 0) AS Nodes FROM (SELECT StackHash, Label, "
		      "sum(%s) AS Total FROM (", by_period ? "Sum * toInt64(Period)" : "Sum");
	add_grouped(out, schema, selection, group_by, "StackHash, ",
		    by_period ? " AS Label, Period, sum(Value) AS Sum" : " AS Label, sum(Value) AS Sum",
		    by_period ? "StackHash, Label, Period" : "StackHash, Label");
	buf_addf(out, ") GROUP BY StackHash, Label) AS Sums LEFT JOIN (SELECT StackHash, " FRAME_HASHES " AS Hashes ");
	add_stacks(out, schema, selection);
	buf_addf(out, " LIMIT 1 BY StackHash) AS Stacks ON Sums.StackHash = Stacks.StackHash) "
		      "ARRAY JOIN Frames AS Frame, Nodes AS Node, arrayPushFront(arrayPopBack(Nodes), 0) AS Parent, "
		      "arrayEnumerate(Frames) AS Depth GROUP BY Label, Depth, Node, Parent, Frame "
		      "ORDER BY NodeTotal DESC, Depth LIMIT %u", nodes_max);
}

void clickhouse_sql_frames(const struct clickhouse_schema *schema, const struct store_selection *selection,
			   const u64 *frames, u32 count, struct buf *out)
{
	buf_addf(out, "SELECT Frame, any(F), any(S), any(L), any(if(F = '', A, 0)), any(M), any(B), any(toString(T)), "
		      "any(toUInt8(D > 0)) FROM (SELECT * ");
	add_stacks(out, schema, selection);
	buf_addf(out, ") ARRAY JOIN " FRAME_HASHES " AS Frame, Functions AS F, Files AS S, StartLines AS L, "
		      "Addresses AS A, Mappings AS M, BuildIds AS B, FrameTypes AS T, InlineDepths AS D ");
	if (frames) {
		buf_addf(out, "WHERE Frame IN (SELECT arrayJoin(arrayMap(i -> reinterpretAsUInt64(substring("
			      "base64Decode(");
		sql_add_base64(out, frames, count * sizeof(*frames));
		buf_addf(out, "), i * 8 + 1, 8)), range(%u)))) ", count);
	}
	buf_addf(out, "GROUP BY Frame");
}

void clickhouse_sql_units(const struct clickhouse_schema *schema, const struct store_selection *selection,
			  struct buf *out)
{
	buf_addf(out, "SELECT toString(min(SampleUnit)), toString(max(SampleUnit)), min(Period), max(Period) FROM (");
	add_grouped(out, schema, selection, STORE_LABEL_COUNT, "SampleUnit, Period", "", "SampleUnit, Period");
	buf_addf(out, ")");
}

/* ---- Numbers --------------------------------------------------------------------------------- */

#define AMOUNT \
	"sum(toFloat64(Value) * multiIf(SampleUnit = 'nanoseconds', 1., Period > 0, toFloat64(Period), 1000000000.))"

void clickhouse_sql_chart(const struct clickhouse_schema *schema, const struct store_selection *selection,
			  enum store_label by, u32 bucket_count, u32 lines_max, struct buf *out)
{
	buf_addf(out, "SELECT toUInt8(Label NOT IN (SELECT ");
	add_label(out, by);
	buf_addf(out, " AS Label ");
	add_selected(out, schema, selection);
	buf_addf(out, " GROUP BY Label ORDER BY " AMOUNT " DESC, Label LIMIT %u)) AS IsRest, "
		      "if(IsRest, '', Label) AS Line, Bucket, sum(Amount) FROM (SELECT ", lines_max);
	add_label(out, by);
	buf_addf(out, " AS Label, toUInt32(intDiv(toUInt128(" NANOSECONDS " - %llu) * %u, %llu)) AS Bucket, " AMOUNT
		      " AS Amount ",
		 selection->from_ns, bucket_count, selection->to_ns - selection->from_ns);
	add_selected(out, schema, selection);
	buf_addf(out, " GROUP BY Label, Bucket) GROUP BY IsRest, Line, Bucket ORDER BY IsRest, Line, Bucket");
}

void clickhouse_sql_heat(const struct clickhouse_schema *schema, const struct store_selection *selection, u64 from_ns,
			 u32 rows, struct buf *out)
{
	buf_addf(out, "SELECT toUInt32(intDiv((" NANOSECONDS " - %llu), 1000000000) * %u + "
		      "intDiv((" NANOSECONDS " - %llu) %% 1000000000 * %u, 1000000000)) AS Cell, "
		      "toUInt32(least(count(), 4294967295)) ", from_ns, rows, from_ns, rows);
	add_selected(out, schema, selection);
	buf_addf(out, " GROUP BY Cell");
}

void clickhouse_sql_values(const struct clickhouse_schema *schema, const struct store_selection *selection,
			   enum store_label label, u32 max, struct buf *out)
{
	buf_addf(out, "SELECT Label, toInt64(sum(Sum)) AS Total FROM (");
	add_grouped(out, schema, selection, label, "", " AS Label, sum(Value) AS Sum", "Label");
	buf_addf(out, ") GROUP BY Label ORDER BY Total DESC, Label LIMIT %u", max);
}

void clickhouse_sql_traces(const struct clickhouse_schema *schema, const struct store_selection *selection,
			   bool by_span, u32 max, struct buf *out)
{
	buf_addf(out, "SELECT TraceId, %s AS Span, toUInt32(uniqExact(SpanId)), count(), toInt64(sum(Value)) AS Total, "
		      "min(" NANOSECONDS "), max(" NANOSECONDS "), toString(argMin(HostName, Timestamp)), "
		      "toString(argMin(ServiceName, Timestamp)), toString(argMin(ProcessName, Timestamp)) ",
		 by_span ? "SpanId" : "''");
	add_selected(out, schema, selection);
	buf_addf(out, " AND TraceId != '' GROUP BY TraceId, Span ORDER BY Total DESC, TraceId, Span LIMIT %u", max);
}

/* ---- Machines ---------------------------------------------------------------------------------- */

static const char *machines_column(enum machines_column column)
{
	u32 count;

	return clickhouse_columns(CLICKHOUSE_MACHINES, &count)[column].name;
}

/* Whole periods, also where the range begins or ends within them; else also a row that reaches into it. */
static void add_machine_range(struct buf *out, const struct clickhouse_machine_question *q)
{
	u64 from_ns = q->period_ns ? q->from_ns - q->from_ns % q->period_ns :
		      q->from_ns > SERIES_ROW_NS_MAX ? q->from_ns - SERIES_ROW_NS_MAX : 0;
	u64 to_ns = q->to_ns < TIME_MAX_NS ? q->to_ns : TIME_MAX_NS;

	if (q->period_ns)
		to_ns += q->period_ns - 1 - (to_ns + q->period_ns - 1) % q->period_ns;
	buf_addf(out, "Start >= ");
	add_time(out, from_ns);
	buf_addf(out, " AND Start < ");
	add_time(out, to_ns);
}

/* FROM its rows, with the one of the answer that each becomes a part of. */
static void add_machine_rows(struct buf *out, const struct clickhouse_schema *schema,
			     const struct clickhouse_machine_question *q)
{
	buf_addf(out, "FROM (SELECT *, toUnixTimestamp64Nano(Start) AS StartNs, toUnixTimestamp64Nano(End) AS EndNs, "
		      "toFloat64(EndNs - StartNs) AS Ns, ");
	if (q->period_ns)
		buf_addf(out, "toInt64(intDiv(StartNs, %llu) * %llu) AS Row ", q->period_ns, q->period_ns);
	else
		buf_addf(out, "StartNs AS Row ");
	buf_addf(out, "FROM ");
	clickhouse_add_table(schema, CLICKHOUSE_MACHINES, out);
	buf_addf(out, " WHERE HostName = ");
	sql_add_literal(out, q->host, strlen(q->host));
	buf_addf(out, " AND End > Start AND ");
	add_machine_range(out, q);
	buf_addf(out, ")");
}

void clickhouse_sql_machines(const struct clickhouse_schema *schema, const struct clickhouse_machine_question *q,
			     struct buf *out)
{
	enum { MEAN, MAX };
	static const struct {
		enum machines_column column;
		int join;
	} numbers[SERIES_NUMBER_COUNT] = {
#define X(id, name, join, scale) [SERIES_##id] = { MACHINES_##id, join },
		SERIES_NUMBERS(X)
#undef X
	};

	buf_addf(out, "SELECT Row, toInt64(max(EndNs)) AS Last, sum(Ns) AS Total");
	for (u32 n = 0; n < SERIES_NUMBER_COUNT; n++)
		buf_addf(out, numbers[n].join == MEAN ? ", sum(%s * Ns) / Total" : ", toFloat64(max(%s))",
			 machines_column(numbers[n].column));
	buf_addf(out, " ");
	add_machine_rows(out, schema, q);
	buf_addf(out, " GROUP BY Row HAVING Last > %llu ORDER BY Row LIMIT %u",
		 q->from_ns < TIME_MAX_NS ? q->from_ns : TIME_MAX_NS, q->rows_max);
}

static void add_tops(struct buf *out, const struct clickhouse_schema *schema,
		     const struct clickhouse_machine_question *q, enum series_top_kind kind)
{
	enum machines_column first = kind == SERIES_BY_CPU ? MACHINES_CPU_PIDS : MACHINES_MEMORY_PIDS;

	buf_addf(out, "SELECT toUInt8(%d) AS Kind, Row, Pid, toString(Name) AS Process, %s AS Amount ", kind,
		 kind == SERIES_BY_CPU ? "sum(One * Ns)" : "toFloat64(max(One))");
	add_machine_rows(out, schema, q);
	buf_addf(out, " ARRAY JOIN %s AS Pid, %s AS Name, %s AS One GROUP BY Row, Pid, Name",
		 machines_column(first), machines_column(first + 1), machines_column(first + 2));
}

void clickhouse_sql_tops(const struct clickhouse_schema *schema, const struct clickhouse_machine_question *q,
			 struct buf *out)
{
	buf_addf(out, "SELECT Kind, Row, Pid, Process, Amount FROM (");
	add_tops(out, schema, q, SERIES_BY_CPU);
	buf_addf(out, " UNION ALL ");
	add_tops(out, schema, q, SERIES_BY_MEMORY);
	buf_addf(out, ") ORDER BY Kind, Row, Amount DESC, Pid, Process LIMIT %d BY Kind, Row", SERIES_TOP);
}

/* ---- Notes ------------------------------------------------------------------------------------- */

static void add_notes_table(struct buf *out, const struct clickhouse_schema *schema)
{
	clickhouse_add_table(schema, CLICKHOUSE_NOTES, out);
}

static void add_insert(struct buf *out, const struct clickhouse_schema *schema)
{
	const struct clickhouse_column *columns;
	u32 count;

	columns = clickhouse_columns(CLICKHOUSE_NOTES, &count);
	buf_addf(out, "INSERT INTO ");
	add_notes_table(out, schema);
	for (u32 i = 0; i < count; i++)
		buf_addf(out, "%s%s", i ? ", " : " (", columns[i].name);
	buf_addf(out, ") ");
}

/* WHERE it is there, and was not dropped. */
static void add_kept(struct buf *out, const struct clickhouse_schema *schema)
{
	buf_addf(out, "WHERE IsDropped = 0 AND Id NOT IN (SELECT Id FROM ");
	add_notes_table(out, schema);
	buf_addf(out, " WHERE IsDropped = 1)");
}

void clickhouse_sql_add_note(const struct clickhouse_schema *schema, const struct store_note *note, struct buf *out)
{
	const char *const texts[] = { note->kind, note->title, note->text, note->host, note->service };

	add_insert(out, schema);
	buf_addf(out, "VALUES (");
	add_time(out, note->time_ns);
	buf_addf(out, ", ");
	add_time(out, note->end_ns);
	buf_addf(out, ", %lld", note->id);
	for (u32 i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		buf_addf(out, ", ");
		sql_add_literal(out, texts[i], strlen(texts[i]));
	}
	buf_addf(out, ", 0)");
}

void clickhouse_sql_drop_note(const struct clickhouse_schema *schema, s64 id, struct buf *out)
{
	add_insert(out, schema);
	buf_addf(out, "SELECT Time, End, Id, Kind, Title, Text, HostName, ServiceName, 1 FROM ");
	add_notes_table(out, schema);
	buf_addf(out, " WHERE Id = %lld AND IsDropped = 0 LIMIT 1", id);
}

void clickhouse_sql_has_note(const struct clickhouse_schema *schema, s64 id, struct buf *out)
{
	buf_addf(out, "SELECT uniqExact(Id) FROM ");
	add_notes_table(out, schema);
	buf_addf(out, " ");
	add_kept(out, schema);
	buf_addf(out, " AND Id = %lld", id);
}

void clickhouse_sql_notes(const struct clickhouse_schema *schema, u64 from_ns, u64 to_ns, u32 max, struct buf *out)
{
	buf_addf(out, "SELECT Id, toUnixTimestamp64Nano(Time), toUnixTimestamp64Nano(End), toString(Kind), Title, "
		      "Text, toString(HostName), toString(ServiceName) FROM ");
	add_notes_table(out, schema);
	buf_addf(out, " ");
	add_kept(out, schema);
	buf_addf(out, " AND Time < ");
	add_time(out, to_ns);
	buf_addf(out, " AND greatest(Time, End) >= ");
	add_time(out, from_ns);
	buf_addf(out, " ORDER BY Time DESC, Id DESC LIMIT 1 BY Id LIMIT %u", max);
}

void clickhouse_sql_others(const struct clickhouse_schema *schema, struct buf *out)
{
	buf_addf(out, "SELECT sum(Machines), max(Last), sum(Notes) FROM (SELECT count() AS Machines, "
		      "toUnixTimestamp64Nano(max(Start)) AS Last, toUInt64(0) AS Notes FROM ");
	clickhouse_add_table(schema, CLICKHOUSE_MACHINES, out);
	buf_addf(out, " UNION ALL SELECT toUInt64(0), toInt64(0), count() FROM ");
	add_notes_table(out, schema);
	buf_addf(out, ")");
}

/* ---- What there is ------------------------------------------------------------------------------ */

void clickhouse_sql_extent(const struct clickhouse_schema *schema, struct buf *out)
{
	buf_addf(out, "SELECT count(), toUnixTimestamp64Nano(min(Timestamp)), toUnixTimestamp64Nano(max(Timestamp)) "
		      "FROM ");
	clickhouse_add_table(schema, CLICKHOUSE_SAMPLES, out);
}

static void add_table_literal(struct buf *out, const struct clickhouse_schema *schema, enum clickhouse_table table)
{
	const char *name = clickhouse_table_name(schema, table);

	sql_add_literal(out, name, strlen(name));
}

void clickhouse_sql_parts(const struct clickhouse_schema *schema, struct buf *out)
{
	const enum clickhouse_table *tables;
	const char *database = schema->database;
	u32 count;

	tables = clickhouse_tables(CLICKHOUSE_WICK, &count);
	buf_addf(out, "SELECT countIf(table = ");
	add_table_literal(out, schema, CLICKHOUSE_SAMPLES);
	buf_addf(out, "), sum(bytes_on_disk), sumIf(rows, table = ");
	add_table_literal(out, schema, CLICKHOUSE_STACKS);
	buf_addf(out, ") FROM system.parts WHERE active AND database = ");
	if (database && *database)
		sql_add_literal(out, database, strlen(database));
	else
		buf_addf(out, "currentDatabase()");
	for (u32 i = 0; i < count; i++) {
		buf_addf(out, i ? ", " : " AND table IN (");
		add_table_literal(out, schema, tables[i]);
	}
	buf_addf(out, ")");
}
