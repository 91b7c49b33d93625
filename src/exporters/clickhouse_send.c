// SPDX-License-Identifier: Apache-2.0
#include "exporters/clickhouse_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/hex.h"
#include "clickhouse/columns.h"
#include "clickhouse/otel.h"
#include "clickhouse/samples.h"
#include "clickhouse/sent.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "store/clickhouse.h"
#include "store/notes.h"
#include "store/shared.h"

#define COLUMN_BYTES_MAX (64u << 20)
#define BLOCK_BYTES_MAX (256u << 20)
#define SENT_STACKS (1u << 18)		/* that are remembered: 2 MiB */
#define SQL_BYTES_MAX (16u << 10)
#define PACK_LEVEL 1			/* labels repeat: more does not make it smaller */

enum step { STEP_SCHEMA, STEP_STACKS, STEP_ROWS };

/* A batch under way. */
struct sending {
	struct clickhouse_send *self;
	struct send *send;
	const struct profile *profile;
	enum step step;
	u32 statement;				/* of the schema: the next one */
	struct samples samples;			/* layout wick */
	struct otel_rows otel_rows;
	u64 *keys;				/* of the stacks in the block */
	u32 key_count;
	struct buf packed;			/* the block */
	struct clickhouse_request *request;
};

struct clickhouse_send {
	struct clickhouse_send_options options;
	struct clickhouse *server;
	bool has_schema;
	struct sent *sent;
	struct columns *rows, *stacks;		/* of the block that is being made; both are empty between calls */
	struct buf plain;			/* a block before it is packed */
	struct metric *stacks_sent, *stacks_forgotten, *times_wrong;
	const struct component_setup *setup;
	struct store *store;			/* layout wick */
};

/* ---- Batches under way --------------------------------------------------------------------- */

static void sending_free(struct sending *sending)
{
	samples_done(&sending->samples);
	buf_done(&sending->packed);
	free(sending->keys);
	free(sending);
}

static int prepare(struct sending *sending)
{
	struct clickhouse_send *self = sending->self;
	int r = batch_profile(send_batch(sending->send), &sending->profile);

	if (r < 0)
		return r;
	sending->otel_rows.profile = sending->profile;
	if (self->options.layout == CLICKHOUSE_OTEL)
		return 0;
	sending->keys = malloc(SAMPLES_ROWS_MAX * sizeof(*sending->keys));
	return !sending->keys ? -ENOMEM :
				samples_init(&sending->samples, sending->profile, clock_ns(CLOCK_REALTIME),
					     (u64)self->options.schema.ttl_ns);
}

static int sending_new(struct clickhouse_send *self, struct send *send, struct sending **ret_sending)
{
	struct sending *sending = calloc(1, sizeof(*sending));
	int r;

	if (!sending)
		return -ENOMEM;
	sending->self = self;
	sending->send = send;
	buf_init(&sending->packed, BLOCK_BYTES_MAX);
	r = prepare(sending);
	if (r < 0) {
		sending_free(sending);
		return r;
	}
	send_keep(send, sending);
	*ret_sending = sending;
	return 0;
}

static void finish(struct sending *sending, enum send_outcome outcome, const char *reason)
{
	struct clickhouse_send *self = sending->self;
	struct send_result result = { .outcome = outcome };
	struct send *send = sending->send;

	(void)snprintf(result.reason, sizeof(result.reason), "%s", reason);
	if (outcome == SEND_OK)
		metric_add(self->times_wrong, sending->samples.times_wrong);
	sending_free(sending);
	sender_done(send, &result);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void answered(void *arg, const struct clickhouse_reply *reply);

static const enum clickhouse_table *tables_of(const struct clickhouse_send *self, u32 *ret_count)
{
	return clickhouse_tables(self->options.layout, ret_count);
}

/* The statement that comes next: 1 if it is under way, 0 if there is none. */
static int send_statement(struct sending *sending)
{
	struct clickhouse_send *self = sending->self;
	_cleanup_(buf_done) struct buf sql;
	const enum clickhouse_table *tables;
	u32 count;
	int r;

	buf_init(&sql, SQL_BYTES_MAX);
	tables = tables_of(self, &count);
	if (!self->options.create_schema || self->has_schema || sending->statement > count) {
		self->has_schema = true;
		return 0;
	}
	if (!sending->statement)
		clickhouse_create_database(&self->options.schema, &sql);
	else
		clickhouse_create_table(&self->options.schema, tables[sending->statement - 1], &sql);
	buf_add(&sql, "", 1);
	r = buf_err(&sql);
	if (r == 0)
		r = clickhouse_begin(self->server, &(struct clickhouse_call){ .sql = sql.data, .done = answered,
									      .arg = sending }, &sending->request);
	return r < 0 ? r : 1;
}

static int pack(struct sending *sending, const struct columns *columns)
{
	struct clickhouse_send *self = sending->self;
	int r;

	self->plain.len = 0;
	self->plain.err = 0;
	sending->packed.len = 0;
	r = columns_encode(columns, &self->plain);
	if (r < 0)
		return r;
	return compression_pack_level(self->options.compression, PACK_LEVEL, self->plain.data, self->plain.len,
				      &sending->packed);
}

/* The token is made of what is sent: a block that is sent again has the same one. */
static u32 add_settings(const struct sending *sending, char *token, struct config_pair *settings)
{
	const struct clickhouse_send *self = sending->self;
	XXH128_canonical_t hash;
	u32 count = 0;

	XXH128_canonicalFromHash(&hash, XXH3_128bits_withSeed(self->plain.data, self->plain.len,
							       sending->samples.times_hash));
	hex_write(hash.digest, sizeof(hash.digest), token);
	token[2 * sizeof(hash.digest)] = '\0';
	settings[count++] = (struct config_pair){ "insert_deduplicate", "1" };
	settings[count++] = (struct config_pair){ "insert_deduplication_token", token };
	if (!self->options.has_async_insert)
		settings[count++] = (struct config_pair){ "async_insert", self->options.async_insert ? "1" : "0" };
	if (self->options.async_insert) {
		settings[count++] = (struct config_pair){ "wait_for_async_insert", "1" };
		settings[count++] = (struct config_pair){ "async_insert_deduplicate", "1" };
	}
	return count;
}

static int send_block(struct sending *sending, enum clickhouse_table table, const struct columns *columns)
{
	struct clickhouse_send *self = sending->self;
	_cleanup_(buf_done) struct buf sql;
	struct config_pair settings[5];
	char token[33];
	int r = pack(sending, columns);

	buf_init(&sql, SQL_BYTES_MAX);
	clickhouse_insert(&self->options.schema, table, &sql);
	buf_add(&sql, "", 1);
	if (r == 0)
		r = buf_err(&sql);
	return r < 0 ? r : clickhouse_begin(self->server, &(struct clickhouse_call){
		.sql = sql.data, .data = sending->packed.data, .data_bytes = sending->packed.len,
		.packed = self->options.compression, .settings = settings,
		.setting_count = add_settings(sending, token, settings), .done = answered, .arg = sending,
	}, &sending->request);
}

/* The next block of stacks, or of rows: 1 if it is under way, 0 if there is none. */
static int send_rows(struct sending *sending)
{
	struct clickhouse_send *self = sending->self;
	bool is_otel = self->options.layout == CLICKHOUSE_OTEL, is_stacks = sending->step == STEP_STACKS;
	struct columns *columns = is_stacks ? self->stacks : self->rows;
	u32 count;
	int r;

	columns_clear(columns);
	if (is_stacks)
		r = is_otel ? 0 : samples_next_stacks(&sending->samples, self->sent, columns, sending->keys);
	else
		r = is_otel ? otel_rows_next(&sending->otel_rows, columns) : samples_next(&sending->samples, columns);
	if (r <= 0)
		return r;
	sending->key_count = is_stacks ? (u32)r : 0;
	r = send_block(sending, is_stacks ? CLICKHOUSE_STACKS : tables_of(self, &count)[0], columns);
	return r < 0 ? r : 1;
}

/* Begins the next request, of this step or a later one. 1 if there is one, 0 at the end. */
static int advance(struct sending *sending)
{
	for (;; sending->step++) {
		int r = sending->step == STEP_SCHEMA ? send_statement(sending) : send_rows(sending);

		if (r != 0 || sending->step == STEP_ROWS)
			return r;
	}
}

static void tell_error(struct sending *sending, int error)
{
	bool is_permanent = error == -E2BIG || error == -EINVAL || error == -EBADMSG;
	char reason[128];

	(void)snprintf(reason, sizeof(reason), "it cannot be encoded: %s",
		       error == -E2BIG ? "a block is too large" : strerror(-error));
	finish(sending, is_permanent ? SEND_PERMANENT : SEND_RETRY, reason);
}

/* ---- Answers ------------------------------------------------------------------------------- */

static void note_done(struct sending *sending)
{
	struct clickhouse_send *self = sending->self;
	u64 forgotten = sent_forgotten(self->sent);

	if (sending->step == STEP_SCHEMA)
		sending->statement++;
	for (u32 i = 0; i < sending->key_count; i++)
		sent_add(self->sent, sending->keys[i]);
	metric_add(self->stacks_sent, sending->key_count);
	metric_add(self->stacks_forgotten, sent_forgotten(self->sent) - forgotten);
	sending->key_count = 0;
}

static void tell_failure(struct sending *sending, const struct clickhouse_reply *reply)
{
	struct clickhouse_send *self = sending->self;

	/* Somebody has dropped the tables, or they were never made: the next attempt makes them. */
	if (reply->outcome == CLICKHOUSE_MISSING) {
		self->has_schema = false;
		sent_clear(self->sent);
	}
	finish(sending, reply->outcome == CLICKHOUSE_REFUSED ? SEND_PERMANENT : SEND_RETRY, reply->reason);
}

static void answered(void *arg, const struct clickhouse_reply *reply)
{
	struct sending *sending = arg;
	int r;

	sending->request = NULL;
	if (reply->outcome != CLICKHOUSE_DONE) {
		tell_failure(sending, reply);
		return;
	}
	note_done(sending);
	r = advance(sending);
	if (r < 0)
		tell_error(sending, r);
	else if (r == 0)
		finish(sending, SEND_OK, "");
}

/* ---- The sender's ---------------------------------------------------------------------------- */

static int begin(void *arg, struct send *send)
{
	struct sending *sending;
	int r = sending_new(arg, send, &sending);

	if (r == -EBADMSG || r == -E2BIG) {
		struct send_result result = { .outcome = SEND_PERMANENT, .reason = "it cannot be decoded" };

		sender_done(send, &result);
		return 0;
	}
	if (r < 0)
		return r;
	r = advance(sending);
	if (r < 0)
		tell_error(sending, r);
	else if (r == 0)
		finish(sending, SEND_OK, "");
	return 0;
}

static void wait_for_answers(void *arg, int timeout_ms)
{
	clickhouse_wait(((struct clickhouse_send *)arg)->server, timeout_ms);
}

static void wake(void *arg)
{
	clickhouse_wake(((struct clickhouse_send *)arg)->server);
}

static void cancel(void *arg, struct send *send)
{
	struct sending *sending = send_kept(send);

	clickhouse_cancel(sending->request);
	sending_free(sending);
}

const struct sender_ops clickhouse_sends = {
	.begin = begin, .wait = wait_for_answers, .wake = wake, .cancel = cancel,
};

/* ---- Life ------------------------------------------------------------------------------------ */

static void add_metrics(struct clickhouse_send *self, const struct component_setup *setup)
{
	struct metrics *metrics = service_metrics(setup->service);
	const struct metric_label label = { "exporter", setup->id };

	self->stacks_sent = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_clickhouse_stacks",
					"Stacks written to ClickHouse.", &label, 1);
	self->stacks_forgotten = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_clickhouse_stacks_forgotten",
					     "Stacks that made room for others, and are written again when they come.",
					     &label, 1);
	self->times_wrong = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_clickhouse_times_wrong",
					"Samples whose time cannot be, written under the hour of their arrival.",
					&label, 1);
}

int clickhouse_send_new(const struct component_setup *setup, const struct clickhouse_send_options *options,
			void **ret_self, struct buf *why)
{
	struct clickhouse_send *self = calloc(1, sizeof(*self));
	u32 count;
	int r;

	if (!self)
		return -ENOMEM;
	self->options = *options;
	self->setup = setup;
	buf_init(&self->plain, BLOCK_BYTES_MAX);
	self->sent = sent_new(SENT_STACKS);
	self->rows = columns_new(tables_of(self, &count)[0], COLUMN_BYTES_MAX);
	self->stacks = columns_new(CLICKHOUSE_STACKS, COLUMN_BYTES_MAX);
	add_metrics(self, setup);
	r = self->sent && self->rows && self->stacks ? clickhouse_new(&options->server, &self->server, why) : -ENOMEM;
	if (r < 0) {
		clickhouse_send_free(self);
		return r;
	}
	*ret_self = self;
	return 0;
}

int clickhouse_send_start(void *arg, struct buf *why)
{
	struct clickhouse_send *self = arg;
	const struct clickhouse_send_options *options = &self->options;
	const struct clickhouse_writer_options writer = {
		.server = options->server, .schema = options->schema, .compression = options->compression,
		.create_schema = options->create_schema, .has_async_insert = options->has_async_insert,
		.metrics = service_metrics(self->setup->service), .exporter = self->setup->id,
	};
	struct store_clickhouse_options store = { .server = options->server, .writer = &writer };
	char host[256] = "localhost";
	int r;

	if (options->layout != CLICKHOUSE_WICK)
		return 0;
	(void)gethostname(host, sizeof(host) - 1);
	store.host = host;
	store.server.database = options->schema.database;
	r = store_open_clickhouse(&store, &self->store, why);
	if (r == 0)
		r = store_share(self->store);
	if (r == 0)
		notes_tell_start();
	return r;
}

void clickhouse_send_stop(void *arg, u64 deadline_ns)
{
	struct clickhouse_send *self = arg;

	(void)deadline_ns;	/* what waits gets one attempt, of some seconds at most */
	store_unshare(TAKE(self->store));
}

void clickhouse_send_free(void *arg)
{
	struct clickhouse_send *self = arg;

	if (!self)
		return;
	store_unshare(self->store);
	clickhouse_free(self->server);
	sent_free(self->sent);
	columns_free(self->rows);
	columns_free(self->stacks);
	buf_done(&self->plain);
	free(self);
}
