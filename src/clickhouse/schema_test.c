// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/schema.h"

#include "base/buf.h"
#include "test.h"

static const char *text_of(void (*make)(const struct clickhouse_schema *, enum clickhouse_table, struct buf *),
			   const struct clickhouse_schema *schema, enum clickhouse_table table)
{
	struct buf out;

	buf_init(&out, 16384);
	make(schema, table, &out);
	EQ(buf_err(&out), 0);
	return test_keep(out.data);
}

TEST(clickhouse_stacks_are_made)
{
	struct clickhouse_schema schema = { .database = "fleet", .ttl_ns = 36 * 3600000000000 };

	STREQ(text_of(clickhouse_create_table, &schema, CLICKHOUSE_STACKS),
	      "CREATE TABLE IF NOT EXISTS `fleet`.`wick_stacks` (\n"
	      "    Day Date CODEC(Delta, ZSTD(1)),\n"
	      "    StackHash UInt64 CODEC(ZSTD(1)),\n"
	      "    Functions Array(String) CODEC(ZSTD(1)),\n"
	      "    Files Array(String) CODEC(ZSTD(1)),\n"
	      "    Lines Array(UInt32) CODEC(ZSTD(1)),\n"
	      "    StartLines Array(UInt32) CODEC(ZSTD(1)),\n"
	      "    Addresses Array(UInt64) CODEC(ZSTD(1)),\n"
	      "    Mappings Array(String) CODEC(ZSTD(1)),\n"
	      "    BuildIds Array(String) CODEC(ZSTD(1)),\n"
	      "    FrameTypes Array(LowCardinality(String)) CODEC(ZSTD(1)),\n"
	      "    InlineDepths Array(UInt8) CODEC(ZSTD(1)),\n"
	      "    INDEX idx_functions Functions TYPE bloom_filter(0.01) GRANULARITY 1\n"
	      ") ENGINE = ReplacingMergeTree()\n"
	      "PARTITION BY Day\n"
	      "ORDER BY StackHash\n"
	      "TTL toDateTime(Day, 'UTC') + toIntervalDay(1) + toIntervalHour(36)\n"
	      "SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, "
	      "non_replicated_deduplication_window = 10000\n");
}

TEST(clickhouse_tables_on_a_cluster_are_replicated)
{
	struct clickhouse_schema schema = {
		.database = "fleet", .cluster = "{cluster}", .engine = "ReplicatedMergeTree",
		.engine_params = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'",
	};
	const char *stacks = text_of(clickhouse_create_table, &schema, CLICKHOUSE_STACKS);
	const char *samples = text_of(clickhouse_create_table, &schema, CLICKHOUSE_SAMPLES);
	struct buf out;

	OK(strstr(stacks, "`fleet`.`wick_stacks` ON CLUSTER '{cluster}' (\n"));
	OK(strstr(stacks, ") ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', "
			  "'{replica}')\nPARTITION BY Day\nORDER BY StackHash\n"
			  "SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1\n"));
	OK(strstr(samples, ") ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', "
			   "'{replica}')\nPARTITION BY toDate(Timestamp)\n"));
	OK(!clickhouse_engine_problem(&schema, CLICKHOUSE_WICK));

	buf_init(&out, 1024);
	clickhouse_create_database(&schema, &out);
	STREQ(out.data, "CREATE DATABASE IF NOT EXISTS `fleet` ON CLUSTER '{cluster}'");
	buf_done(&out);
}

TEST(clickhouse_samples_are_sorted_by_time_then_labels)
{
	struct clickhouse_schema schema = { .database = "", .ttl_ns = 90000000001 };
	const char *sql = text_of(clickhouse_create_table, &schema, CLICKHOUSE_SAMPLES);

	OK(!strncmp(sql, "CREATE TABLE IF NOT EXISTS `wick_samples` (\n    Timestamp DateTime64(9, 'UTC') ", 74));
	OK(strstr(sql, ",\n    PROJECTION minutes (SELECT SampleType, toStartOfFiveMinutes(Timestamp), "
		       "toStartOfMinute(Timestamp), ServiceName, Namespace, ProcessName, ExecutablePath, SampleUnit, "
		       "Period, StackHash, sum(Value) GROUP BY SampleType, "));
	OK(strstr(sql, ") ENGINE = MergeTree()\nPARTITION BY toDate(Timestamp)\n"
		       "ORDER BY (SampleType, toStartOfFiveMinutes(Timestamp), ServiceName, HostName, ProcessName, "
		       "StackHash, Timestamp)\nTTL toDateTime(Timestamp) + toIntervalSecond(91)\n"));
}

TEST(clickhouse_machines_and_notes_expire_as_samples_do)
{
	struct clickhouse_schema schema = { .database = "fleet", .ttl_ns = 36 * 3600000000000 };
	const char *machines = text_of(clickhouse_create_table, &schema, CLICKHOUSE_MACHINES);
	const enum clickhouse_table *tables;
	u32 count;

	OK(strstr(machines, "`fleet`.`wick_machines` (\n    Start DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),\n"));
	OK(strstr(machines, "    MemoryAmounts Array(UInt64) CODEC(ZSTD(1))\n) ENGINE = ReplacingMergeTree()\n"
			    "PARTITION BY toDate(Start)\nORDER BY (HostName, Start)\n"
			    "TTL toDateTime(Start) + toIntervalHour(36)\n"));
	OK(strstr(text_of(clickhouse_create_table, &schema, CLICKHOUSE_NOTES),
		  "    IsDropped UInt8 CODEC(ZSTD(1))\n) ENGINE = ReplacingMergeTree()\nPARTITION BY toDate(Time)\n"
		  "ORDER BY (Time, Id, IsDropped)\nTTL toDateTime(Time) + toIntervalHour(36)\n"));
	tables = clickhouse_tables(CLICKHOUSE_WICK, &count);
	EQ(count, 4);
	EQ(tables[0], CLICKHOUSE_SAMPLES);
	tables = clickhouse_tables(CLICKHOUSE_OTEL, &count);
	EQ(count, 1);
	EQ(tables[0], CLICKHOUSE_OTEL_PROFILES);
}

TEST(clickhouse_otel_profiles_are_the_collectors)
{
	struct clickhouse_schema schema = { .database = "otel", .profiles_table = "pr`of" };
	const char *sql = text_of(clickhouse_create_table, &schema, CLICKHOUSE_OTEL_PROFILES);

	OK(strstr(sql, "`otel`.`pr\\`of` (\n    Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)),\n"
		       "    ProfileId String CODEC(ZSTD(1)),\n"));
	OK(strstr(sql, "    SpanId String CODEC(ZSTD(1)),\n"
		       "    `__otel_materialized_k8s.cluster.name` LowCardinality(String) MATERIALIZED "
		       "ResourceAttributes['k8s.cluster.name'] CODEC(ZSTD(1)),\n"));
	OK(strstr(sql, "    INDEX idx_function_names FunctionNames TYPE text(tokenizer = 'splitByNonAlpha')\n) ENG"));
	OK(strstr(sql, "ORDER BY (ServiceName, SampleType, toDateTime(Timestamp))\nSETTINGS"));
	STREQ(text_of(clickhouse_insert, &schema, CLICKHOUSE_OTEL_PROFILES),
	      "INSERT INTO `otel`.`pr\\`of` (Timestamp, ProfileId, SampleType, SampleUnit, ServiceName, "
	      "ResourceAttributes, ScopeName, ScopeVersion, ProfileAttributes, SampleAttributes, StackHash, "
	      "Addresses, FunctionNames, FileNames, LineNumbers, MappingFileNames, Values, TimestampsUnixNano, "
	      "DurationNano, Period, PeriodType, PeriodUnit, TraceId, SpanId) FORMAT Native");
}

TEST(clickhouse_engines_that_cannot_be_are_refused)
{
	static const struct {
		const char *name, *params;
		enum clickhouse_layout layout;
		const char *problem;
	} cases[] = {
		{ "", "", CLICKHOUSE_WICK, NULL },
		{ "MergeTree", "", CLICKHOUSE_WICK, NULL },
		{ "ReplicatedMergeTree", "'/t/{uuid}', '{replica}'", CLICKHOUSE_WICK, NULL },
		{ "ReplicatedMergeTree", "'/t/x', '{replica}'", CLICKHOUSE_OTEL, NULL },
		{ "ReplicatedMergeTree", "'/t/x', '{replica}'", CLICKHOUSE_WICK, "{table}" },
		{ "CollapsingMergeTree", "Sign", CLICKHOUSE_WICK, "MergeTree, ReplicatedMergeTree or" },
		{ "Memory", "", CLICKHOUSE_OTEL, "family" },
		{ "MergeTree() --MergeTree", "", CLICKHOUSE_OTEL, "no engine" },
		{ "MergeTree", "'{table}') ORDER BY (a", CLICKHOUSE_OTEL, "only numbers" },
		{ "MergeTree", "'{table}", CLICKHOUSE_OTEL, "only numbers" },
		{ "MergeTree", "'{table}\\", CLICKHOUSE_OTEL, "only numbers" },
		{ "", "'{table}'", CLICKHOUSE_OTEL, "need a name" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct clickhouse_schema schema = { .engine = cases[i].name, .engine_params = cases[i].params };
		const char *problem = clickhouse_engine_problem(&schema, cases[i].layout);

		EQ(!problem, !cases[i].problem);
		OK(!problem || strstr(problem, cases[i].problem));
	}
}
