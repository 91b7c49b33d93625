// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse_sql.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/notes.h"
#include "test.h"

#define TABLE "`fleet`.`wick_samples`"
#define RANGE									\
	"Timestamp >= fromUnixTimestamp64Nano(1000000000, 'UTC') AND Timestamp < "	\
	"fromUnixTimestamp64Nano(61000000000, 'UTC')"
#define SELECTED "FROM " TABLE " WHERE " RANGE

static const struct clickhouse_schema schema = { .database = "fleet" };
static struct store_selection selection = { .from_ns = 1000000000, .to_ns = 61000000000 };

static struct buf begin(void)
{
	struct buf sql;

	selection.filter_count = 0;
	buf_init(&sql, 65536);
	return sql;
}

static void expect(struct buf *sql, const char *text)
{
	EQ(buf_err(sql), 0);
	STREQ(sql->data, text);
	buf_done(sql);
}

static void add_filter(enum store_label label, enum store_match match, const char *value)
{
	selection.filters[selection.filter_count++] = (struct store_filter){ label, match, value };
}

TEST(clickhouse_sql_values_are_the_largest)
{
	struct buf sql = begin();

	clickhouse_sql_values(&schema, &selection, STORE_PROCESS, 12, &sql);
	expect(&sql, "SELECT Label, toInt64(sum(Sum)) AS Total FROM (SELECT toString(ProcessName) AS Label, sum(Value) "
		     "AS Sum " SELECTED " GROUP BY Label) GROUP BY Label ORDER BY Total DESC, Label LIMIT 12");
}

TEST(clickhouse_sql_has_what_users_give_as_literals_only)
{
	static const char evil[] = "'; DROP TABLE x --\\' `\n";
	struct buf sql = begin();

	add_filter(STORE_HOST, STORE_EQUAL, evil);
	add_filter(STORE_PID, STORE_NOT_EQUAL, "7");
	add_filter(STORE_CPU, STORE_CONTAINS, "1' OR '1'='1");
	clickhouse_sql_values(&schema, &selection, STORE_THREAD, 1, &sql);
	expect(&sql, "SELECT Label, toInt64(sum(Sum)) AS Total FROM (SELECT toString(ThreadName) AS Label, sum(Value) "
		     "AS Sum " SELECTED
		     " AND HostName = '\\'; DROP TABLE x --\\\\\\' \\`\\x0A'"
		     " AND if(ProcessId = 0, '', toString(ProcessId)) != '7'"
		     " AND position(if(Cpu = -1, '', toString(Cpu)), '1\\' OR \\'1\\'=\\'1') > 0"
		     " GROUP BY Label) GROUP BY Label ORDER BY Total DESC, Label LIMIT 1");
}

TEST(clickhouse_sql_knows_every_label)
{
	static const char *const columns[STORE_LABEL_COUNT] = {
		[STORE_HOST] = "HostName", [STORE_SERVICE] = "ServiceName", [STORE_NAMESPACE] = "Namespace",
		[STORE_POD] = "PodName", [STORE_CONTAINER] = "ContainerId", [STORE_PROCESS] = "ProcessName",
		[STORE_EXECUTABLE] = "ExecutablePath", [STORE_PID] = "ProcessId", [STORE_TYPE] = "SampleType",
		[STORE_UNIT] = "SampleUnit", [STORE_PERIOD] = "Period", [STORE_WAIT] = "Attributes['wait.reason']",
		[STORE_THREAD] = "ThreadName",
		[STORE_TID] = "ThreadId", [STORE_CPU] = "Cpu", [STORE_TRACE] = "TraceId", [STORE_SPAN] = "SpanId",
	};

	for (u32 i = 0; i < STORE_LABEL_COUNT; i++) {
		struct buf sql = begin();
		char text[64];

		clickhouse_sql_values(&schema, &selection, i, 1, &sql);
		snprintf(text, sizeof(text), "toString(%s)", columns[i]);
		OK(strstr(sql.data, text));
		buf_done(&sql);
	}
}

TEST(clickhouse_sql_of_times_that_no_column_has)
{
	struct store_selection wide = { .from_ns = 0, .to_ns = UINT64_MAX };
	struct buf sql = begin();

	clickhouse_sql_units(&schema, &wide, &sql);
	expect(&sql, "SELECT toString(min(SampleUnit)), toString(max(SampleUnit)), min(Period), max(Period) FROM ("
		     "SELECT SampleUnit, Period FROM " TABLE " WHERE (Timestamp >= fromUnixTimestamp64Nano(0, 'UTC') "
		     "AND Timestamp < fromUnixTimestamp64Nano(0, 'UTC') OR Timestamp >= "
		     "fromUnixTimestamp64Nano(4294967280000000000, 'UTC') AND Timestamp < "
		     "fromUnixTimestamp64Nano(5662224000000000000, 'UTC')) GROUP BY SampleUnit, Period UNION ALL "
		     "SELECT SampleUnit, Period FROM " TABLE " WHERE toStartOfFiveMinutes(Timestamp) >= "
		     "toDateTime(0, 'UTC') AND toStartOfFiveMinutes(Timestamp) <= toDateTime(4294967100, 'UTC') AND "
		     "toStartOfMinute(Timestamp) >= toDateTime(0, 'UTC') AND toStartOfMinute(Timestamp) < "
		     "toDateTime(4294967280, 'UTC') GROUP BY SampleUnit, Period)");
}

/* The server may answer what is of whole minutes from its sums, if it has what is asked for. */
TEST(clickhouse_sql_asks_for_whole_minutes_apart)
{
	static const struct {
		u64 from_s, to_s;
		enum store_label label, filter;
		bool is_apart;
	} cases[] = {
		{ 61, 3661, STORE_SERVICE, STORE_TYPE, true },	  { 61, 3661, STORE_TYPE, STORE_SERVICE, true },
		{ 61, 3661, STORE_HOST, STORE_TYPE, false },	  { 61, 3661, STORE_SERVICE, STORE_HOST, false },
		{ 61, 3661, STORE_SERVICE, STORE_WAIT, false },	  { 60, 359, STORE_SERVICE, STORE_TYPE, false },
		{ 60, 360, STORE_SERVICE, STORE_TYPE, true },	  { 61, 361, STORE_SERVICE, STORE_TYPE, false },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct store_selection range = { .from_ns = cases[i].from_s * SECOND_NS,
						 .to_ns = cases[i].to_s * SECOND_NS, .filter_count = 1 };
		struct buf sql = begin();

		range.filters[0] = (struct store_filter){ cases[i].filter, STORE_EQUAL, "x" };
		clickhouse_sql_values(&schema, &range, cases[i].label, 1, &sql);
		EQ(strstr(sql.data, "UNION ALL") != NULL, cases[i].is_apart);
		buf_done(&sql);
	}
}

#define HASHES									\
	"arrayMap((f, s, l, a, m, b, t, d) -> cityHash64(f, s, l, if(f = '', a, 0), m, b, toString(t), d > 0), " \
	"Functions, Files, StartLines, Addresses, Mappings, BuildIds, FrameTypes, InlineDepths)"
#define STACKS									\
	"FROM `fleet`.`wick_stacks` WHERE Day >= toDate(fromUnixTimestamp64Nano(1000000000, 'UTC')) AND Day <= " \
	"toDate(fromUnixTimestamp64Nano(61000000000, 'UTC')) AND StackHash IN (SELECT StackHash " SELECTED
#define OF_STACKS " GROUP BY StackHash)"

TEST(clickhouse_sql_sums_up_a_tree)
{
	struct buf sql = begin();

	add_filter(STORE_TYPE, STORE_EQUAL, "samples");
	clickhouse_sql_nodes(&schema, &selection, STORE_LABEL_COUNT, false, 100, &sql);
	expect(&sql, "SELECT Label, toUInt32(Depth), Node, Parent, Frame, toInt64(sum(Total)) AS NodeTotal, "
		     "toInt64(sumIf(Total, Depth = length(Frames))) FROM (SELECT Label, Total, "
		     "arrayPushFront(arrayReverse(Hashes), 0) AS Frames, arrayPushFront(arrayCumSum(arrayMap((f, i) -> "
		     "cityHash64(f, i), arrayReverse(Hashes), arrayEnumerate(Hashes))), 0) AS Nodes "
		     "FROM (SELECT StackHash, Label, sum(Sum) AS Total FROM (SELECT StackHash, '' AS Label, "
		     "sum(Value) AS Sum " SELECTED " AND SampleType = 'samples' GROUP BY StackHash, Label) "
		     "GROUP BY StackHash, Label) AS Sums LEFT JOIN (SELECT StackHash, " HASHES " AS Hashes " STACKS
		     " AND SampleType = 'samples'" OF_STACKS " LIMIT 1 BY StackHash) AS Stacks "
		     "ON Sums.StackHash = Stacks.StackHash) "
		     "ARRAY JOIN Frames AS Frame, Nodes AS Node, arrayPushFront(arrayPopBack(Nodes), 0) AS Parent, "
		     "arrayEnumerate(Frames) AS Depth GROUP BY Label, Depth, Node, Parent, Frame "
		     "ORDER BY NodeTotal DESC, Depth LIMIT 100");
	sql = begin();
	clickhouse_sql_nodes(&schema, &selection, STORE_HOST, true, 100, &sql);
	OK(strstr(sql.data, "sum(Sum * toInt64(Period)) AS Total FROM (SELECT StackHash, toString(HostName) AS Label, "
			    "Period, sum(Value) AS Sum " SELECTED " GROUP BY StackHash, Label, Period) GROUP BY "));
	buf_done(&sql);
	sql = begin();
	clickhouse_sql_frames(&schema, &selection, (const u64[]){ 7, UINT64_MAX }, 2, &sql);
	OK(strstr(sql.data, "InlineDepths AS D WHERE Frame IN (SELECT arrayJoin(arrayMap(i -> "
			    "reinterpretAsUInt64(substring(base64Decode('BwAAAAAAAAD//////////w=='), i * 8 + 1, 8)), "
			    "range(2)))) GROUP BY Frame"));
	buf_done(&sql);
	sql = begin();
	clickhouse_sql_frames(&schema, &selection, NULL, 0, &sql);
	expect(&sql, "SELECT Frame, any(F), any(S), any(L), any(if(F = '', A, 0)), any(M), any(B), any(toString(T)), "
		     "any(toUInt8(D > 0)) FROM (SELECT * " STACKS OF_STACKS ") ARRAY JOIN " HASHES " AS Frame, "
		     "Functions AS F, Files AS S, StartLines AS L, Addresses AS A, Mappings AS M, BuildIds AS B, "
		     "FrameTypes AS T, InlineDepths AS D GROUP BY Frame");
}

#define AMOUNT \
	"sum(toFloat64(Value) * multiIf(SampleUnit = 'nanoseconds', 1., Period > 0, toFloat64(Period), 1000000000.))"

TEST(clickhouse_sql_charts)
{
	struct buf sql = begin();

	clickhouse_sql_chart(&schema, &selection, STORE_HOST, 30, 5, &sql);
	expect(&sql, "SELECT toUInt8(Label NOT IN (SELECT toString(HostName) AS Label " SELECTED
		     " GROUP BY Label ORDER BY " AMOUNT " DESC, Label LIMIT 5)) AS IsRest, "
		     "if(IsRest, '', Label) AS Line, Bucket, sum(Amount) FROM (SELECT toString(HostName) AS Label, "
		     "toUInt32(intDiv(toUInt128(toUnixTimestamp64Nano(Timestamp) - 1000000000) * 30, 60000000000)) "
		     "AS Bucket, " AMOUNT " AS Amount " SELECTED
		     " GROUP BY Label, Bucket) GROUP BY IsRest, Line, Bucket ORDER BY IsRest, Line, Bucket");
	sql = begin();
	clickhouse_sql_heat(&schema, &selection, 1000000000, 50, &sql);
	expect(&sql, "SELECT toUInt32(intDiv((toUnixTimestamp64Nano(Timestamp) - 1000000000), 1000000000) * 50 + "
		     "intDiv((toUnixTimestamp64Nano(Timestamp) - 1000000000) % 1000000000 * 50, 1000000000)) AS Cell, "
		     "toUInt32(least(count(), 4294967295)) " SELECTED " GROUP BY Cell");
}

TEST(clickhouse_sql_of_traces_and_their_spans)
{
	for (int by_span = 0; by_span < 2; by_span++) {
		struct buf sql = begin();

		clickhouse_sql_traces(&schema, &selection, by_span, 9, &sql);
		OK(!strncmp(sql.data, by_span ? "SELECT TraceId, SpanId AS Span, " : "SELECT TraceId, '' AS Span, ",
			    by_span ? 32 : 28));
		OK(strstr(sql.data, SELECTED " AND TraceId != '' GROUP BY TraceId, Span "
					     "ORDER BY Total DESC, TraceId, Span LIMIT 9"));
		buf_done(&sql);
	}
}

/* ---- Machines and notes ------------------------------------------------------------------------- */

#define MACHINE_ROWS(row, from, to)						\
	"FROM (SELECT *, toUnixTimestamp64Nano(Start) AS StartNs, toUnixTimestamp64Nano(End) AS EndNs, "	\
	"toFloat64(EndNs - StartNs) AS Ns, " row " AS Row FROM `fleet`.`wick_machines` WHERE HostName = 'it\\'s' AND " \
	"End > Start AND Start >= fromUnixTimestamp64Nano(" from ", 'UTC') AND Start < "	\
	"fromUnixTimestamp64Nano(" to ", 'UTC'))"
#define NUMBERS									\
	"SELECT Row, toInt64(max(EndNs)) AS Last, sum(Ns) AS Total, toFloat64(max(Cpus)), sum(Busy * Ns) / Total, " \
	"toFloat64(max(BusyPeak)), sum(IOWait * Ns) / Total, sum(Steal * Ns) / Total, toFloat64(max(MemoryTotal)), " \
	"sum(MemoryUsed * Ns) / Total, toFloat64(max(MemoryPeak)), sum(Load * Ns) / Total, sum(Processes * Ns) / Total "

TEST(clickhouse_sql_of_a_machine_has_rows_as_they_are_or_by_period)
{
	struct clickhouse_machine_question q = { "it's", 100 * SECOND_NS, 190 * SECOND_NS, 0, 7 };
	struct buf sql = begin();

	clickhouse_sql_machines(&schema, &q, &sql);
	expect(&sql, NUMBERS MACHINE_ROWS("StartNs", "40000000000", "190000000000")
		     " GROUP BY Row HAVING Last > 100000000000 ORDER BY Row LIMIT 7");
	q.period_ns = 60 * SECOND_NS;
	sql = begin();
	clickhouse_sql_machines(&schema, &q, &sql);
	expect(&sql, NUMBERS MACHINE_ROWS("toInt64(intDiv(StartNs, 60000000000) * 60000000000)", "60000000000",
					  "240000000000")
		     " GROUP BY Row HAVING Last > 100000000000 ORDER BY Row LIMIT 7");
	q.to_ns = 180 * SECOND_NS;
	sql = begin();
	clickhouse_sql_machines(&schema, &q, &sql);
	OK(strstr(sql.data, "Start < fromUnixTimestamp64Nano(180000000000, 'UTC')"));
	buf_done(&sql);
}

TEST(clickhouse_sql_of_a_machine_at_times_that_no_column_has)
{
	struct clickhouse_machine_question q = { "", 0, UINT64_MAX, 3600 * SECOND_NS, 7 };
	struct buf sql = begin();

	clickhouse_sql_machines(&schema, &q, &sql);
	OK(strstr(sql.data, "Start >= fromUnixTimestamp64Nano(0, 'UTC') AND Start < "
			    "fromUnixTimestamp64Nano(5662224000000000000, 'UTC')"));
	OK(strstr(sql.data, "HAVING Last > 0 "));
	buf_done(&sql);
}

TEST(clickhouse_sql_of_processes_has_the_largest_of_each_row)
{
	struct clickhouse_machine_question q = { "it's", 100 * SECOND_NS, 190 * SECOND_NS, 0, 7 };
	struct buf sql = begin();

	clickhouse_sql_tops(&schema, &q, &sql);
	expect(&sql, "SELECT Kind, Row, Pid, Process, Amount FROM (SELECT toUInt8(0) AS Kind, Row, Pid, toString(Name) "
		     "AS Process, sum(One * Ns) AS Amount " MACHINE_ROWS("StartNs", "40000000000", "190000000000")
		     " ARRAY JOIN CpuPids AS Pid, CpuNames AS Name, CpuAmounts AS One GROUP BY Row, Pid, Name"
		     " UNION ALL SELECT toUInt8(1) AS Kind, Row, Pid, toString(Name) AS Process, toFloat64(max(One)) "
		     "AS Amount " MACHINE_ROWS("StartNs", "40000000000", "190000000000")
		     " ARRAY JOIN MemoryPids AS Pid, MemoryNames AS Name, MemoryAmounts AS One GROUP BY Row, Pid, Name)"
		     " ORDER BY Kind, Row, Amount DESC, Pid, Process LIMIT 10 BY Kind, Row");
}

#define NOTES "`fleet`.`wick_notes`"
#define ADD_NOTE \
	"INSERT INTO " NOTES " (Time, End, Id, Kind, Title, Text, HostName, ServiceName, IsDropped) "
#define KEPT "WHERE IsDropped = 0 AND Id NOT IN (SELECT Id FROM " NOTES " WHERE IsDropped = 1)"

TEST(clickhouse_sql_of_notes)
{
	struct store_note note = { 7, 5, 0, "deploy", "'); --", "a\\", "h", "" };
	struct buf sql = begin();

	clickhouse_sql_add_note(&schema, &note, &sql);
	expect(&sql, ADD_NOTE "VALUES (fromUnixTimestamp64Nano(5, 'UTC'), fromUnixTimestamp64Nano(0, 'UTC'), 7, "
			      "'deploy', '\\'); --', 'a\\\\', 'h', '', 0)");
	sql = begin();
	clickhouse_sql_drop_note(&schema, 7, &sql);
	expect(&sql, ADD_NOTE "SELECT Time, End, Id, Kind, Title, Text, HostName, ServiceName, 1 FROM " NOTES
			      " WHERE Id = 7 AND IsDropped = 0 LIMIT 1");
	sql = begin();
	clickhouse_sql_has_note(&schema, 7, &sql);
	expect(&sql, "SELECT uniqExact(Id) FROM " NOTES " " KEPT " AND Id = 7");
	sql = begin();
	clickhouse_sql_notes(&schema, 3, 9, 5, &sql);
	expect(&sql, "SELECT Id, toUnixTimestamp64Nano(Time), toUnixTimestamp64Nano(End), toString(Kind), Title, Text, "
		     "toString(HostName), toString(ServiceName) FROM " NOTES " " KEPT " AND Time < "
		     "fromUnixTimestamp64Nano(9, 'UTC') AND greatest(Time, End) >= fromUnixTimestamp64Nano(3, 'UTC') "
		     "ORDER BY Time DESC, Id DESC LIMIT 1 BY Id LIMIT 5");
}

TEST(clickhouse_sql_of_what_there_is)
{
	struct buf sql = begin();

	clickhouse_sql_extent(&schema, &sql);
	expect(&sql, "SELECT count(), toUnixTimestamp64Nano(min(Timestamp)), toUnixTimestamp64Nano(max(Timestamp)) "
		     "FROM " TABLE);
	sql = begin();
	clickhouse_sql_parts(&schema, &sql);
	expect(&sql, "SELECT countIf(table = 'wick_samples'), sum(bytes_on_disk), "
		     "sumIf(rows, table = 'wick_stacks') "
		     "FROM system.parts WHERE active AND database = 'fleet' AND table IN ('wick_samples', "
		     "'wick_stacks', 'wick_machines', 'wick_notes')");
}
