// SPDX-License-Identifier: Apache-2.0
#include "cmd/builtin.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/types.h"

#define LISTEN "localhost:11000"

struct retention {
	unsigned long long hours, mib;
};

static unsigned long long unit_of(const char *unit, bool *ret_is_size)
{
	static const struct {
		const char *name;
		unsigned long long factor;
		bool is_size;
	} units[] = {
		{ "h", 1, false },    { "d", 24, false },   { "w", 168, false },
		{ "MB", 1, true },    { "MiB", 1, true },   { "GB", 1024, true },
		{ "GiB", 1024, true }, { "TB", 1 << 20, true }, { "TiB", 1 << 20, true },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcasecmp(units[i].name, unit))
			continue;
		*ret_is_size = units[i].is_size;
		return units[i].factor;
	}
	return 0;
}

/* "7d", "2GB", or both with a comma, in any order. */
static bool parse_retention(const char *text, struct retention *retention)
{
	_cleanup_(freep) char *copy = strdup(text);
	char *rest = copy, *part;

	while (copy && (part = strsep(&rest, ","))) {
		unsigned long long amount, factor;
		bool is_size = false;
		char *end;

		errno = 0;
		amount = strtoull(part, &end, 10);
		factor = unit_of(end, &is_size);
		if (errno || !isdigit((unsigned char)*part) || !amount || !factor || amount > (1ull << 30) / factor)
			return false;
		if (is_size)
			retention->mib = amount * factor;
		else
			retention->hours = amount * factor;
	}
	return copy != NULL;
}

/* The port for the metrics' own endpoint, which takes host and port apart. */
static bool split_address(const char *address, char host[256], char port[8])
{
	const char *colon = strrchr(address, ':');
	size_t len = colon ? (size_t)(colon - address) : 0;

	if (!len || len >= 256 || strlen(colon + 1) >= 8 || !isdigit((unsigned char)colon[1]))
		return false;
	memcpy(host, address, len);
	host[len] = '\0';
	snprintf(port, 8, "%s", colon + 1);
	return true;
}

/* Who is opened to other machines, or writes to a server that they share, is meant to receive. */
static bool is_for_this_machine(const struct builtin_options *options, const char *host)
{
	return !options->clickhouse && (!strcmp(host, "localhost") || !strcmp(host, "[::1]") ||
					!strncmp(host, "127.", 4));
}

bool builtin_given(const struct builtin_options *options)
{
	return options->listen || options->store_path || options->retention || options->clickhouse ||
	       options->page_files || options->page_source;
}

/* In quotes, as JSON has them. */
static void put_quoted(struct buf *yaml, const char *text)
{
	buf_addf(yaml, "\"");
	for (; *text; text++)
		buf_addf(yaml, *text == '"' || *text == '\\' ? "\\%c" : *text == '$' ? "$%c" : "%c", *text);
	buf_addf(yaml, "\"");
}

static void put_endpoint(struct buf *yaml, const char *before, const char *listen)
{
	buf_addf(yaml, "%s", before);
	put_quoted(yaml, listen);
}

static unsigned long long hours_or_default(const struct retention *retention)
{
	return retention->hours ? retention->hours : 7 * 24;
}

static void put_store(const struct builtin_options *options, const struct retention *retention, struct buf *yaml)
{
	put_endpoint(yaml, "\nexporters:\n  store:\n    path: ",
		     options->store_path ? options->store_path : "/var/lib/wick");
	buf_addf(yaml, "\n    max_age: %lluh\n    max_size_mib: %llu\n", hours_or_default(retention),
		 retention->mib ? retention->mib : 1024);
}

static void put_clickhouse(const struct builtin_options *options, const struct retention *retention, struct buf *yaml)
{
	put_endpoint(yaml, "\nexporters:\n  clickhouse:\n    endpoint: ", options->clickhouse);
	buf_addf(yaml, "\n    ttl: %lluh\n", hours_or_default(retention));
}

static int refuse(char error[OPTIONS_ERROR_MAX], const char *sentence)
{
	snprintf(error, OPTIONS_ERROR_MAX, "%s", sentence);
	return -EINVAL;
}

static int check(const struct builtin_options *options, struct retention *retention, char error[OPTIONS_ERROR_MAX])
{
	if (options->retention && !parse_retention(options->retention, retention))
		return refuse(error, "--store.retention is to be an age, a size or both, as in 7d,2GB");
	if (options->clickhouse && options->store_path)
		return refuse(error, "--store.clickhouse and --store.path: profiles are kept in one place");
	if (options->clickhouse && retention->mib)
		return refuse(error, "--store.retention: ClickHouse knows no size, only an age, as in 7d");
	return 0;
}

int builtin_write(const struct builtin_options *options, struct buf *yaml, char error[OPTIONS_ERROR_MAX])
{
	const char *listen = options->listen ? options->listen : LISTEN;
	struct retention retention = { 0 };
	char host[256], port[8], any[16];
	int r;

	/* As Go's programs take it: all addresses. */
	if (*listen == ':' && snprintf(any, sizeof(any), "0.0.0.0%s", listen) < (int)sizeof(any))
		listen = any;
	if (!split_address(listen, host, port))
		return refuse(error, "--listen is to be an address with a port, as in localhost:11000");
	r = check(options, &retention, error);
	if (r < 0)
		return r;
	buf_addf(yaml, "receivers:\n  profiling:\n    reporter_interval: 1s\n    governor:\n      senders: %s\n"
		       "  otlp:\n    protocols:\n", is_for_this_machine(options, host) ? "true" : "false");
	put_endpoint(yaml, "      grpc:\n        endpoint: ", listen);
	put_endpoint(yaml, "\n      http:\n        endpoint: ", listen);
	(options->clickhouse ? put_clickhouse : put_store)(options, &retention, yaml);
	put_endpoint(yaml, "extensions:\n  page:\n    endpoint: ", listen);
	if (options->clickhouse)
		put_endpoint(yaml, "\n    clickhouse:\n      endpoint: ", options->clickhouse);
	if (options->page_files)
		put_endpoint(yaml, "\n    files: ", options->page_files);
	if (options->page_source)
		put_endpoint(yaml, "\n    source: ", options->page_source);
	buf_addf(yaml, "\nservice:\n  extensions: [page]\n  telemetry:\n    metrics:\n      readers:\n"
		       "        - pull:\n            exporter:\n              prometheus:\n");
	put_endpoint(yaml, "                host: ", host);
	buf_addf(yaml, "\n                port: %s\n", port);
	buf_addf(yaml, "  pipelines:\n    profiles:\n      receivers: [profiling, otlp]\n      exporters: [%s]\n",
		 options->clickhouse ? "clickhouse" : "store");
	return buf_err(yaml);
}
