/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables: their columns, and the SQL that makes them and writes to them. Pure text; nothing is sent here.
 *
 *	layout wick	wick_samples	a row for each time that a sample was taken at, with its labels
 *			wick_stacks	each distinct stack once a day, by the hash of its frames
 *			wick_machines	what each host did in some seconds: CPUs, memory, load, its largest processes
 *			wick_notes	what is said of moments; a note that is dropped gets a second row which says so
 *	layout otel	otel_profiles	as the OpenTelemetry Collector writes it: a row for each sample, with its stack
 *
 * Stacks are kept by day: for every sample of a day (UTC) its stack is in wick_stacks under that Day. So both go
 * at the same time, and a query needs only the Days of its range. A stack is there several times until parts are
 * merged: ask for `LIMIT 1 BY StackHash`. Its arrays are of one length, leaf first. InlineDepths is 0 for a function
 * that was really called, else how deep it was inlined into the one that was, which follows.
 *
 * Labels that are not known are "", numbers 0, and Cpu -1.
 */
#ifndef CLICKHOUSE_SCHEMA_H
#define CLICKHOUSE_SCHEMA_H

#include "base/types.h"

struct buf;

enum clickhouse_layout { CLICKHOUSE_WICK, CLICKHOUSE_OTEL };

enum clickhouse_table {
	CLICKHOUSE_SAMPLES,
	CLICKHOUSE_STACKS,
	CLICKHOUSE_MACHINES,
	CLICKHOUSE_NOTES,
	CLICKHOUSE_OTEL_PROFILES,
	CLICKHOUSE_TABLES,
};

/* X(id, type in SQL, codec) */
#define CLICKHOUSE_TYPES(X)							\
	X(TIME, "DateTime64(9)", "Delta, ZSTD(1)")				\
	X(UTC_TIME, "DateTime64(9, 'UTC')", "Delta, ZSTD(1)")			\
	X(DATE, "Date", "Delta, ZSTD(1)")					\
	X(U8, "UInt8", "ZSTD(1)")						\
	X(U32, "UInt32", "ZSTD(1)")						\
	X(I32, "Int32", "ZSTD(1)")						\
	X(U64, "UInt64", "ZSTD(1)")						\
	X(I64, "Int64", "ZSTD(1)")						\
	X(TEXT, "String", "ZSTD(1)")						\
	X(LABEL, "LowCardinality(String)", "ZSTD(1)")				\
	X(U8S, "Array(UInt8)", "ZSTD(1)")					\
	X(I32S, "Array(Int32)", "ZSTD(1)")					\
	X(U32S, "Array(UInt32)", "ZSTD(1)")					\
	X(U64S, "Array(UInt64)", "ZSTD(1)")					\
	X(I64S, "Array(Int64)", "ZSTD(1)")					\
	X(TEXTS, "Array(String)", "ZSTD(1)")					\
	X(LABELS, "Array(LowCardinality(String))", "ZSTD(1)")			\
	X(MAP, "Map(LowCardinality(String), String)", "ZSTD(1)")

enum clickhouse_type {
#define X(id, sql, codec) CLICKHOUSE_##id,
	CLICKHOUSE_TYPES(X)
#undef X
};

/* X(id, name, type). Columns of attributes hold those that have no column of their own. */
#define SAMPLES_COLUMNS(X)							\
	X(TIMESTAMP, "Timestamp", UTC_TIME)					\
	X(SAMPLE_TYPE, "SampleType", LABEL)					\
	X(SAMPLE_UNIT, "SampleUnit", LABEL)					\
	X(PERIOD, "Period", U64)	/* nanoseconds that a sample stands for */	\
	X(VALUE, "Value", I64)							\
	X(STACK_HASH, "StackHash", U64)						\
	X(HOST, "HostName", LABEL)						\
	X(SERVICE, "ServiceName", LABEL)					\
	X(NAMESPACE, "Namespace", LABEL)	/* of Kubernetes */		\
	X(POD, "PodName", LABEL)						\
	X(CONTAINER, "ContainerId", LABEL)					\
	X(PROCESS, "ProcessName", LABEL)					\
	X(EXECUTABLE, "ExecutablePath", LABEL)					\
	X(PID, "ProcessId", U32)						\
	X(THREAD, "ThreadName", LABEL)						\
	X(TID, "ThreadId", U32)							\
	X(CPU, "Cpu", I32)							\
	X(FRAME_TYPE, "FrameType", LABEL)	/* of the leaf: kernel, native, go, jvm, cpython, ... */	\
	X(TRACE, "TraceId", TEXT)		/* 32 hexadecimal digits, or "" */	\
	X(SPAN, "SpanId", TEXT)			/* 16 */			\
	X(RESOURCE_ATTRIBUTES, "ResourceAttributes", MAP)			\
	X(ATTRIBUTES, "Attributes", MAP)	/* of the sample and its profile */

#define STACKS_COLUMNS(X)							\
	X(DAY, "Day", DATE)							\
	X(HASH, "StackHash", U64)						\
	X(FUNCTIONS, "Functions", TEXTS)	/* "" where there is no name */	\
	X(FILES, "Files", TEXTS)		/* of the source */		\
	X(LINES, "Lines", U32S)							\
	X(START_LINES, "StartLines", U32S)	/* of functions */		\
	X(ADDRESSES, "Addresses", U64S)		/* in the file of the mapping */	\
	X(MAPPINGS, "Mappings", TEXTS)		/* paths */			\
	X(BUILD_IDS, "BuildIds", TEXTS)						\
	X(FRAME_TYPES, "FrameTypes", LABELS)					\
	X(INLINE_DEPTHS, "InlineDepths", U8S)

/* Rows of one host and Start are the same row, sent again. Numbers are those of store/series_row.h. */
#define MACHINES_COLUMNS(X)							\
	X(START, "Start", UTC_TIME)						\
	X(END, "End", UTC_TIME)							\
	X(HOST, "HostName", LABEL)						\
	X(CPUS, "Cpus", U64)							\
	X(BUSY, "Busy", U64)			/* thousandths of a CPU */	\
	X(BUSY_PEAK, "BusyPeak", U64)						\
	X(IOWAIT, "IOWait", U64)						\
	X(STEAL, "Steal", U64)							\
	X(MEMORY_TOTAL, "MemoryTotal", U64)	/* bytes */			\
	X(MEMORY_USED, "MemoryUsed", U64)					\
	X(MEMORY_PEAK, "MemoryPeak", U64)					\
	X(LOAD, "Load", U64)			/* thousandths */		\
	X(PROCESSES, "Processes", U64)						\
	X(CPU_PIDS, "CpuPids", U32S)		/* of those that used most, the largest first */	\
	X(CPU_NAMES, "CpuNames", LABELS)					\
	X(CPU_AMOUNTS, "CpuAmounts", U64S)	/* thousandths of a CPU */	\
	X(MEMORY_PIDS, "MemoryPids", U32S)					\
	X(MEMORY_NAMES, "MemoryNames", LABELS)					\
	X(MEMORY_AMOUNTS, "MemoryAmounts", U64S)	/* bytes */

#define NOTES_COLUMNS(X)							\
	X(TIME, "Time", UTC_TIME)						\
	X(END, "End", UTC_TIME)			/* 1970: a moment */		\
	X(ID, "Id", U64)			/* of 15 digits, for JSON */	\
	X(KIND, "Kind", LABEL)							\
	X(TITLE, "Title", TEXT)							\
	X(TEXT, "Text", TEXT)							\
	X(HOST, "HostName", LABEL)		/* "": of all of them */	\
	X(SERVICE, "ServiceName", LABEL)					\
	X(IS_DROPPED, "IsDropped", U8)

#define OTEL_COLUMNS(X)								\
	X(TIMESTAMP, "Timestamp", TIME)						\
	X(PROFILE_ID, "ProfileId", TEXT)					\
	X(SAMPLE_TYPE, "SampleType", LABEL)					\
	X(SAMPLE_UNIT, "SampleUnit", LABEL)					\
	X(SERVICE, "ServiceName", LABEL)					\
	X(RESOURCE_ATTRIBUTES, "ResourceAttributes", MAP)			\
	X(SCOPE_NAME, "ScopeName", TEXT)					\
	X(SCOPE_VERSION, "ScopeVersion", TEXT)					\
	X(PROFILE_ATTRIBUTES, "ProfileAttributes", MAP)				\
	X(SAMPLE_ATTRIBUTES, "SampleAttributes", MAP)				\
	X(STACK_HASH, "StackHash", U64)						\
	X(ADDRESSES, "Addresses", U64S)						\
	X(FUNCTIONS, "FunctionNames", LABELS)					\
	X(FILES, "FileNames", LABELS)						\
	X(LINES, "LineNumbers", I32S)						\
	X(MAPPINGS, "MappingFileNames", LABELS)					\
	X(VALUES, "Values", I64S)						\
	X(TIMES, "TimestampsUnixNano", U64S)					\
	X(DURATION, "DurationNano", U64)					\
	X(PERIOD, "Period", I64)						\
	X(PERIOD_TYPE, "PeriodType", LABEL)					\
	X(PERIOD_UNIT, "PeriodUnit", LABEL)					\
	X(TRACE, "TraceId", TEXT)						\
	X(SPAN, "SpanId", TEXT)

#define X(id, name, type) SAMPLES_##id,
enum samples_column { SAMPLES_COLUMNS(X) SAMPLES_COLUMN_COUNT };
#undef X
#define X(id, name, type) STACKS_##id,
enum stacks_column { STACKS_COLUMNS(X) STACKS_COLUMN_COUNT };
#undef X
#define X(id, name, type) MACHINES_##id,
enum machines_column { MACHINES_COLUMNS(X) MACHINES_COLUMN_COUNT };
#undef X
#define X(id, name, type) NOTES_##id,
enum notes_column { NOTES_COLUMNS(X) NOTES_COLUMN_COUNT };
#undef X
#define X(id, name, type) OTEL_##id,
enum otel_column { OTEL_COLUMNS(X) OTEL_COLUMN_COUNT };
#undef X

struct clickhouse_column {
	const char *name;
	enum clickhouse_type type;
};

/* In the order in which they are written; *ret_count of them. */
const struct clickhouse_column *clickhouse_columns(enum clickhouse_table table, u32 *ret_count);
const char *clickhouse_type_name(enum clickhouse_type type);

/* Those of a layout, that of samples first; *ret_count of them. */
const enum clickhouse_table *clickhouse_tables(enum clickhouse_layout layout, u32 *ret_count);

/* Where the tables are, and how they are made. Strings are borrowed; "" or NULL where not given. */
struct clickhouse_schema {
	const char *database;
	const char *profiles_table;	/* of layout otel; otel_profiles */
	const char *cluster;		/* ON CLUSTER */
	const char *engine;		/* MergeTree */
	const char *engine_params;
	s64 ttl_ns;			/* 0: nothing goes */
};

/* NULL, or what is wrong with engine and parameters: a literal. */
const char *clickhouse_engine_problem(const struct clickhouse_schema *schema, enum clickhouse_layout layout);

const char *clickhouse_table_name(const struct clickhouse_schema *schema, enum clickhouse_table table);

/* Appends `database`.`table`. */
void clickhouse_add_table(const struct clickhouse_schema *schema, enum clickhouse_table table, struct buf *out);

/* Append a statement each. */
void clickhouse_create_database(const struct clickhouse_schema *schema, struct buf *out);
void clickhouse_create_table(const struct clickhouse_schema *schema, enum clickhouse_table table, struct buf *out);
void clickhouse_insert(const struct clickhouse_schema *schema, enum clickhouse_table table, struct buf *out);

#endif
