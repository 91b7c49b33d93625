/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written to ClickHouse beside profiles: rows about machines, and what wick itself says of moments. Who has a
 * row puts it into a queue and goes on; a thread writes what came in some seconds as one block. A fleet makes many
 * small ones: the server is asked to gather them (async_insert).
 *
 *	away, busy		it waits, and is written again: a row that is there twice is one
 *	no such table		all tables of wick are made, if that is allowed
 *	refused, too many	lost, and counted
 *
 * Any thread may add.
 */
#ifndef STORE_CLICKHOUSE_WRITER_H
#define STORE_CLICKHOUSE_WRITER_H

#include "base/cleanup.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/schema.h"
#include "store/series.h"

struct columns;
struct metrics;
struct clickhouse_writer;

/* What it points to is borrowed until the writer is freed. */
struct clickhouse_writer_options {
	struct clickhouse_options server;
	struct clickhouse_schema schema;
	enum compression compression;
	bool create_schema;
	bool has_async_insert;		/* the settings of the server say it already */
	struct metrics *metrics;
	const char *exporter;		/* label of the counters */
};

/* -ENOMEM, -EINVAL and a sentence. */
int clickhouse_writer_new(const struct clickhouse_writer_options *options, struct clickhouse_writer **ret_writer,
			  struct buf *why);

/* Tries once more to write what waits; accepts NULL. */
void clickhouse_writer_free(struct clickhouse_writer *writer);
DEFINE_CLEANUP(struct clickhouse_writer *, clickhouse_writer_free)

/* -ENOBUFS: too many wait, or there is no memory. */
int clickhouse_writer_add(struct clickhouse_writer *writer, const char *host, const struct series_row *row);

/* A statement that adds something; it is copied, and written at once if nothing else waits. -ENOBUFS. */
int clickhouse_writer_run(struct clickhouse_writer *writer, const char *sql);

/* A row of wick_machines. */
void clickhouse_writer_row(struct columns *columns, const char *host, const struct series_row *row);

#endif
