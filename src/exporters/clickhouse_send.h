/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes batches to ClickHouse. A batch is several requests, one after the other:
 *
 *	the tables, if they are not known to be there	CREATE ... IF NOT EXISTS
 *	layout wick: stacks that the server lacks	blocks of wick_stacks, where equal ones become one
 *	samples						blocks that have a token made of their bytes
 *
 * If one fails the whole batch is sent again: the server knows the tokens of the blocks that it has, so that none is
 * there twice, also if it was only the answer that got lost. Its own thread, the sender's, does all of it.
 *
 * In layout wick it also is a store of this process, which takes rows about machines (store/clickhouse_writer.h).
 */
#ifndef EXPORTERS_CLICKHOUSE_SEND_H
#define EXPORTERS_CLICKHOUSE_SEND_H

#include "clickhouse/clickhouse.h"
#include "clickhouse/schema.h"
#include "pipeline/component.h"
#include "pipeline/sender.h"

/* Strings are borrowed. */
struct clickhouse_send_options {
	struct clickhouse_options server;
	struct clickhouse_schema schema;
	enum clickhouse_layout layout;
	enum compression compression;
	bool create_schema, async_insert;
	bool has_async_insert;			/* the settings of the server say it already */
};

/* A component that sends by these. */
extern const struct sender_ops clickhouse_sends;

int clickhouse_send_new(const struct component_setup *setup, const struct clickhouse_send_options *options,
			void **ret_self, struct buf *why);
int clickhouse_send_start(void *self, struct buf *why);
void clickhouse_send_stop(void *self, u64 deadline_ns);
void clickhouse_send_free(void *self);

#endif
