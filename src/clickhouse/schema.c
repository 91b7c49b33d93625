// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/schema.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "clickhouse/sql.h"

#define SECOND 1000000000ll
#define COUNT(array) ((u32)(sizeof(array) / sizeof(*(array))))

/* Blocks that a table remembers, to know one that is sent again: some minutes of a fleet. */
#define DEDUPLICATION_WINDOW 10000

static const struct {
	const char *sql, *codec;
} types[] = {
#define X(id, sql, codec) { sql, codec },
	CLICKHOUSE_TYPES(X)
#undef X
};

#define X(id, name, type) { name, CLICKHOUSE_##type },
static const struct clickhouse_column samples_columns[] = { SAMPLES_COLUMNS(X) };
static const struct clickhouse_column stacks_columns[] = { STACKS_COLUMNS(X) };
static const struct clickhouse_column machines_columns[] = { MACHINES_COLUMNS(X) };
static const struct clickhouse_column notes_columns[] = { NOTES_COLUMNS(X) };
static const struct clickhouse_column otel_columns[] = { OTEL_COLUMNS(X) };
#undef X

/*
 * Samples are sorted by time first, since a range is what every question has, but only by five minutes, so that equal
 * labels stand together within them. The server keeps their sums by minute and service beside them: a fleet's hosts
 * have the same stacks.
 */
#define MINUTES									\
	"SampleType, toStartOfFiveMinutes(Timestamp), toStartOfMinute(Timestamp), ServiceName, Namespace, "	\
	"ProcessName, ExecutablePath, SampleUnit, Period, StackHash"

static const struct table {
	const char *name;
	const struct clickhouse_column *columns;
	u32 column_count;
	const char *more;			/* indexes and the like, after the columns */
	bool replacing;				/* equal keys become one row */
	const char *partition, *order, *expires;
} tables[] = {
	[CLICKHOUSE_SAMPLES] = {
		"wick_samples", samples_columns, COUNT(samples_columns),
		",\n    INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1"
		",\n    PROJECTION minutes (SELECT " MINUTES ", sum(Value) GROUP BY " MINUTES ")", false,
		"toDate(Timestamp)",
		"(SampleType, toStartOfFiveMinutes(Timestamp), ServiceName, HostName, ProcessName, StackHash, "
		"Timestamp)", "toDateTime(Timestamp)",
	},
	[CLICKHOUSE_STACKS] = {
		"wick_stacks", stacks_columns, COUNT(stacks_columns),
		",\n    INDEX idx_functions Functions TYPE bloom_filter(0.01) GRANULARITY 1", true,
		"Day", "StackHash", "toDateTime(Day, 'UTC') + toIntervalDay(1)",
	},
	[CLICKHOUSE_MACHINES] = {
		"wick_machines", machines_columns, COUNT(machines_columns), "", true,
		"toDate(Start)", "(HostName, Start)", "toDateTime(Start)",
	},
	[CLICKHOUSE_NOTES] = {
		"wick_notes", notes_columns, COUNT(notes_columns), "", true,
		"toDate(Time)", "(Time, Id, IsDropped)", "toDateTime(Time)",
	},
#define ATTRIBUTE(name)								\
	",\n    `__otel_materialized_" name "` LowCardinality(String) MATERIALIZED ResourceAttributes['" name "'] " \
	"CODEC(ZSTD(1))"
#define TEXT_INDEX(name, of, tokenizer) ",\n    INDEX " name " " of " TYPE text(tokenizer = '" tokenizer "')"
	[CLICKHOUSE_OTEL_PROFILES] = {
		"otel_profiles", otel_columns, COUNT(otel_columns),
		ATTRIBUTE("k8s.cluster.name") ATTRIBUTE("k8s.container.name") ATTRIBUTE("k8s.deployment.name")
		ATTRIBUTE("k8s.namespace.name") ATTRIBUTE("k8s.node.name") ATTRIBUTE("k8s.pod.name")
		ATTRIBUTE("k8s.pod.uid") ATTRIBUTE("deployment.environment.name") ATTRIBUTE("service.namespace")
		ATTRIBUTE("service.instance.id")
		TEXT_INDEX("idx_profile_id", "ProfileId", "array") TEXT_INDEX("idx_trace_id", "TraceId", "array")
		TEXT_INDEX("idx_res_attr_key", "mapKeys(ResourceAttributes)", "array")
		TEXT_INDEX("idx_res_attr_value", "mapValues(ResourceAttributes)", "array")
		TEXT_INDEX("idx_sample_attr_key", "mapKeys(SampleAttributes)", "array")
		TEXT_INDEX("idx_sample_attr_value", "mapValues(SampleAttributes)", "array")
		TEXT_INDEX("idx_function_names", "FunctionNames", "splitByNonAlpha"), false,
		"toDate(Timestamp)", "(ServiceName, SampleType, toDateTime(Timestamp))", "toDateTime(Timestamp)",
	},
};

static bool is_given(const char *text)
{
	return text && *text;
}

const struct clickhouse_column *clickhouse_columns(enum clickhouse_table table, u32 *ret_count)
{
	*ret_count = tables[table].column_count;
	return tables[table].columns;
}

const enum clickhouse_table *clickhouse_tables(enum clickhouse_layout layout, u32 *ret_count)
{
	static const enum clickhouse_table wick[] = { CLICKHOUSE_SAMPLES, CLICKHOUSE_STACKS, CLICKHOUSE_MACHINES,
						      CLICKHOUSE_NOTES };
	static const enum clickhouse_table otel[] = { CLICKHOUSE_OTEL_PROFILES };

	*ret_count = layout == CLICKHOUSE_OTEL ? COUNT(otel) : COUNT(wick);
	return layout == CLICKHOUSE_OTEL ? otel : wick;
}

const char *clickhouse_type_name(enum clickhouse_type type)
{
	return types[type].sql;
}

const char *clickhouse_table_name(const struct clickhouse_schema *schema, enum clickhouse_table table)
{
	bool is_other = table == CLICKHOUSE_OTEL_PROFILES && is_given(schema->profiles_table);

	return is_other ? schema->profiles_table : tables[table].name;
}

void clickhouse_add_table(const struct clickhouse_schema *schema, enum clickhouse_table table, struct buf *out)
{
	sql_add_table(out, schema->database, clickhouse_table_name(schema, table));
}

/* ---- Engines ------------------------------------------------------------------------------ */

#define FAMILY "MergeTree"

static const char *engine_of(const struct clickhouse_schema *schema)
{
	return is_given(schema->engine) ? schema->engine : FAMILY;
}

/* Where the name of the family begins in that of an engine; NULL if it is of another. */
static const char *family_in(const char *engine)
{
	size_t bytes = strlen(engine), tail = strlen(FAMILY);

	return bytes >= tail && !strcmp(engine + bytes - tail, FAMILY) ? engine + bytes - tail : NULL;
}

const char *clickhouse_engine_problem(const struct clickhouse_schema *schema, enum clickhouse_layout layout)
{
	const char *engine = engine_of(schema), *params = schema->engine_params;

	for (const char *c = engine; *c; c++) {
		if (!isalpha((unsigned char)*c))
			return "name: it is no engine's";
	}
	if (!family_in(engine))
		return "name: only engines of the MergeTree family keep profiles";
	if (layout == CLICKHOUSE_WICK && strcmp(engine, FAMILY) && strcmp(engine, "Replicated" FAMILY) &&
	    strcmp(engine, "Shared" FAMILY))
		return "name: the tables of wick are made with MergeTree, ReplicatedMergeTree or SharedMergeTree";
	if (!is_given(params))
		return NULL;
	if (!is_given(schema->engine))
		return "params: they need a name";
	if (!sql_is_plain_list(params))
		return "params: only numbers, names and 'strings' with commas between them are";
	if (layout == CLICKHOUSE_WICK && !strstr(params, "{table}") && !strstr(params, "{uuid}"))
		return "params: wick has several tables, so the path needs {table} or {uuid}";
	return NULL;
}

static void add_engine(const struct clickhouse_schema *schema, bool replacing, struct buf *out)
{
	const char *engine = engine_of(schema), *family = family_in(engine);

	buf_addf(out, "ENGINE = %.*s%s%s(%s)\n", (int)(family - engine), engine, replacing ? "Replacing" : "", family,
		 is_given(schema->engine_params) ? schema->engine_params : "");
}

/* Replicas remember blocks anyway. */
static void add_settings(const struct clickhouse_schema *schema, struct buf *out)
{
	const char *engine = engine_of(schema);

	buf_addf(out, "SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1");
	if (family_in(engine) == engine)
		buf_addf(out, ", non_replicated_deduplication_window = %d", DEDUPLICATION_WINDOW);
	buf_addf(out, "\n");
}

/* ---- Statements ---------------------------------------------------------------------------- */

static void add_cluster(const struct clickhouse_schema *schema, struct buf *out)
{
	if (!is_given(schema->cluster))
		return;
	buf_addf(out, " ON CLUSTER ");
	sql_add_literal(out, schema->cluster, strlen(schema->cluster));
}

static void add_ttl(const char *expression, s64 ttl_ns, struct buf *out)
{
	static const struct {
		const char *unit;
		s64 seconds;
	} units[] = { { "Day", 86400 }, { "Hour", 3600 }, { "Minute", 60 }, { "Second", 1 } };
	s64 seconds = (ttl_ns + SECOND - 1) / SECOND;
	u32 i = 0;

	if (ttl_ns <= 0)
		return;
	while (seconds % units[i].seconds)
		i++;
	buf_addf(out, "TTL %s + toInterval%s(%lld)\n", expression, units[i].unit, seconds / units[i].seconds);
}

void clickhouse_create_database(const struct clickhouse_schema *schema, struct buf *out)
{
	buf_addf(out, "CREATE DATABASE IF NOT EXISTS ");
	sql_add_name(out, is_given(schema->database) ? schema->database : "default");
	add_cluster(schema, out);
}

void clickhouse_create_table(const struct clickhouse_schema *schema, enum clickhouse_table table, struct buf *out)
{
	const struct table *t = &tables[table];

	buf_addf(out, "CREATE TABLE IF NOT EXISTS ");
	clickhouse_add_table(schema, table, out);
	add_cluster(schema, out);
	buf_addf(out, " (\n");
	for (u32 i = 0; i < t->column_count; i++)
		buf_addf(out, "%s    %s %s CODEC(%s)", i ? ",\n" : "", t->columns[i].name,
			 types[t->columns[i].type].sql, types[t->columns[i].type].codec);
	buf_addf(out, "%s\n) ", t->more);
	add_engine(schema, t->replacing, out);
	buf_addf(out, "PARTITION BY %s\nORDER BY %s\n", t->partition, t->order);
	add_ttl(t->expires, schema->ttl_ns, out);
	add_settings(schema, out);
}

void clickhouse_insert(const struct clickhouse_schema *schema, enum clickhouse_table table, struct buf *out)
{
	const struct table *t = &tables[table];

	buf_addf(out, "INSERT INTO ");
	clickhouse_add_table(schema, table, out);
	for (u32 i = 0; i < t->column_count; i++)
		buf_addf(out, "%s%s", i ? ", " : " (", t->columns[i].name);
	buf_addf(out, ") FORMAT Native");
}
