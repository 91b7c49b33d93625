/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose profiles are in the tables of a ClickHouse server (clickhouse/schema.h), written by the exporters
 * `clickhouse` of any number of machines. It asks, and adds notes; that of an exporter also takes rows about machines
 * (clickhouse_writer.h). See backend.h.
 *
 * A server that is away, or has no tables yet, is no reason not to open it: each answer that fails has a sentence
 * (store_explain()), and the next one may succeed. Whether something changed is asked in the background, once a second
 * as long as somebody wants to know.
 */
#ifndef STORE_CLICKHOUSE_H
#define STORE_CLICKHOUSE_H

#include "clickhouse/clickhouse.h"
#include "clickhouse/schema.h"
#include "store/clickhouse_writer.h"
#include "store/store.h"

struct store_clickhouse_options {
	struct clickhouse_options server;	/* what it points to is borrowed until the store is closed */
	const char *host;			/* this machine's name */
	const struct clickhouse_writer_options *writer;	/* how rows about machines are written; NULL: they are not */
};

/* -EINVAL: options that cannot be; -ENOMEM. */
int store_open_clickhouse(const struct store_clickhouse_options *options, struct store **ret_store, struct buf *why);

#endif
