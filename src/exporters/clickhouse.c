// SPDX-License-Identifier: Apache-2.0
/* The exporter clickhouse: profiles into tables, by ClickHouse's HTTP interface. Options as the Collector has them. */
#include <errno.h>
#include <string.h>

#include "exporters/clickhouse_send.h"
#include "pipeline/component.h"

struct options {
	const char *endpoint, *username, *password, *database, *profiles_table_name, *cluster_name, *proxy_url;
	struct {
		const char *name, *params;
	} table_engine;
	struct config_pairs connection_params;
	int layout, compress;
	bool create_schema, async_insert;
	s64 ttl_ns;
	struct tls_client_options tls;
	struct sender_options sender;
};

static const char *const layouts[] = { "wick", "otel", NULL };

/* Those up to none are spoken. */
static const char *const compressions[] = { "zstd", "gzip", "deflate", "none", "lz4", "br", NULL };
static const enum compression kinds[] = { COMPRESSION_ZSTD, COMPRESSION_GZIP, COMPRESSION_ZLIB, COMPRESSION_NONE };
#define SPOKEN 4

#define ENGINE(member) (FIELD(struct options, table_engine.member) - FIELD(struct options, table_engine))
static const struct config_field engine_fields[] = {
	{ "name", CONFIG_TEXT, ENGINE(name), .help = "MergeTree, ReplicatedMergeTree or SharedMergeTree" },
	{ "params", CONFIG_TEXT, ENGINE(params),
	  .help = "of the engine, such as '/clickhouse/tables/{shard}/{database}/{table}', '{replica}'" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "endpoint", CONFIG_TEXT, FIELD(struct options, endpoint), .required = true,
	  .help = "http://host:8123 or https://host:8443; settings may follow, as in ?max_threads=2" },
	{ "username", CONFIG_TEXT, FIELD(struct options, username), .help = "who writes" },
	{ "password", CONFIG_SECRET, FIELD(struct options, password), .help = "of that user" },
	{ "database", CONFIG_TEXT, FIELD(struct options, database), .help = "where the tables are" },
	{ "layout", CONFIG_CHOICE, FIELD(struct options, layout), .choices = layouts,
	  .help = "wick (samples and stacks apart, what the page can read) or otel (the Collector's table)" },
	{ "profiles_table_name", CONFIG_TEXT, FIELD(struct options, profiles_table_name),
	  .help = "of layout otel; empty: otel_profiles" },
	{ "ttl", CONFIG_DURATION, FIELD(struct options, ttl_ns), .max = 1e18,
	  .help = "rows older than that go, where wick creates the tables; 0: none" },
	{ "create_schema", CONFIG_BOOL, FIELD(struct options, create_schema),
	  .help = "create database and tables where they are missing" },
	{ "cluster_name", CONFIG_TEXT, FIELD(struct options, cluster_name),
	  .help = "create them ON CLUSTER; may be a macro such as {cluster}" },
	{ "table_engine", CONFIG_SECTION, FIELD(struct options, table_engine), .fields = engine_fields,
	  .help = "of the tables" },
	{ "compress", CONFIG_CHOICE, FIELD(struct options, compress), .choices = compressions,
	  .help = "zstd, gzip, deflate or none" },
	{ "async_insert", CONFIG_BOOL, FIELD(struct options, async_insert),
	  .help = "let the server gather small inserts; wick waits for it, but a plain MergeTree may then keep what is "
		  "sent again twice" },
	{ "connection_params", CONFIG_PAIRS, FIELD(struct options, connection_params),
	  .help = "settings of ClickHouse for each request" },
	{ "tls", CONFIG_SECTION, FIELD(struct options, tls), .fields = tls_client_fields, .help = "TLS of https://" },
	{ "proxy_url", CONFIG_TEXT, FIELD(struct options, proxy_url),
	  .help = "a proxy; if not given http_proxy, HTTPS_PROXY and NO_PROXY of the environment say" },
	SENDER_FIELDS(struct options, sender),
	{ "json", CONFIG_REFUSED, .help = "wick writes attributes as maps; remove it" },
	{ "logs_table_name", CONFIG_NEEDLESS, .help = "wick sends only profiles" },
	{ "traces_table_name", CONFIG_NEEDLESS, .help = "wick sends only profiles" },
	{ "metrics_table_name", CONFIG_NEEDLESS, .help = "wick sends only profiles" },
	{ "metrics_tables", CONFIG_NEEDLESS, .help = "wick sends only profiles" },
	{ 0 },
};

static const struct options defaults = {
	.endpoint = "", .username = "", .password = "", .database = "default", .profiles_table_name = "",
	.cluster_name = "", .proxy_url = "", .table_engine = { "", "" }, .create_schema = true,
	.sender = SENDER_DEFAULTS(5000000000),
};

static struct clickhouse_schema schema_of(const struct options *options)
{
	return (struct clickhouse_schema){
		.database = options->database, .profiles_table = options->profiles_table_name,
		.cluster = options->cluster_name, .engine = options->table_engine.name,
		.engine_params = options->table_engine.params, .ttl_ns = options->ttl_ns,
	};
}

/* Is it set in the query of the URL? */
static bool has_setting(const char *url, const char *name)
{
	const char *at = strchr(url, '?');
	size_t bytes = strlen(name);

	for (; at; at = strchr(at + 1, '&')) {
		if (!strncmp(at + 1, name, bytes) && at[1 + bytes] == '=')
			return true;
	}
	return false;
}

static void check(const void *arg, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *options = arg;
	const struct clickhouse_schema schema = schema_of(options);
	const char *problem = *options->endpoint ? clickhouse_url_problem(options->endpoint) : NULL;
	char shown[CLICKHOUSE_SHOWN_BYTES];

	clickhouse_url_shown(options->endpoint, shown);
	if (problem)
		config_error(errors, place, path, "endpoint: %s: %s", shown, problem);
	if (has_setting(options->endpoint, "database"))
		config_error(errors, place, path, "endpoint: name the database by the option database");
	problem = clickhouse_engine_problem(&schema, options->layout);
	if (problem)
		config_error(errors, place, path, "table_engine::%s", problem);
	if (options->layout == CLICKHOUSE_WICK && *options->profiles_table_name)
		config_error(errors, place, path,
			     "profiles_table_name: only layout otel has it; use database to keep several apart");
	if (options->compress >= SPOKEN)
		config_error(errors, place, path, "compress: wick does not speak %s; use zstd, gzip, deflate or none",
			     compressions[options->compress]);
	tls_client_check(&options->tls, place, path, errors);
}

/* As in the Collector, what the endpoint or connection_params say about it is stronger than the option. */
static bool says_async_insert(const struct options *options)
{
	for (u32 i = 0; i < options->connection_params.count; i++) {
		if (!strcmp(options->connection_params.at[i].key, "async_insert"))
			return true;
	}
	return has_setting(options->endpoint, "async_insert");
}

static int create(const struct component_setup *setup, const void *arg, void **ret_self, struct buf *why)
{
	const struct options *options = arg;

	return clickhouse_send_new(setup, &(struct clickhouse_send_options){
		.server = { .url = options->endpoint, .username = options->username, .password = options->password,
			    .settings = &options->connection_params, .timeout_ns = options->sender.timeout_ns,
			    .client = { .tls = &options->tls, .proxy_url = options->proxy_url } },
		.schema = schema_of(options), .layout = options->layout, .compression = kinds[options->compress],
		.create_schema = options->create_schema, .async_insert = options->async_insert,
		.has_async_insert = says_async_insert(options),
	}, ret_self, why);
}

const struct component_ops exporter_clickhouse = {
	.type = "clickhouse",
	.help = "profiles into tables of ClickHouse",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = create,
	.start = clickhouse_send_start,
	.stop = clickhouse_send_stop,
	.free = clickhouse_send_free,
	EXPORTER_SENDS(clickhouse_sends, struct options, sender),
	.looks = LOOKS_AT_PROFILE,
};
