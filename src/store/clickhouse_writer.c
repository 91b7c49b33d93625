// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "clickhouse/columns.h"

#define ROWS_MAX 4096			/* that wait: 5 MiB */
#define STATEMENTS_MAX 16
#define GATHER_NS (5 * SECOND_NS)	/* how long rows wait for others */
#define GATHERED_MAX 1024		/* rows that do not wait any longer */
#define AGAIN_NS (5 * SECOND_NS)	/* until the next attempt */
#define TIMEOUT_NS (5 * SECOND_NS)	/* the end waits for it */
#define BLOCK_BYTES_MAX (16u << 20)
#define SQL_BYTES_MAX (16u << 10)
#define PACK_LEVEL 1

/* id, what the counter says: why rows are lost. */
#define LOSSES(X)			\
	X(FULL, "queue_full")		\
	X(REFUSED, "refused")		\
	X(END, "end")

enum loss {
#define X(id, text) LOST_##id,
	LOSSES(X)
#undef X
	LOSS_COUNT,
};

struct waiting_row {
	char host[SERIES_HOST_BYTES];
	struct series_row row;
};

struct clickhouse_writer {
	struct clickhouse_writer_options options;
	struct metric *written, *lost[LOSS_COUNT];

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct thread thread;
	bool stop;
	struct waiting_row *rows;
	u32 row_count, row_cap;
	char *statements[STATEMENTS_MAX];
	u32 statement_count;
	u64 due_ns;			/* when it is time to write; CLOCK_MONOTONIC */

	/* Of the thread. */
	struct clickhouse *server;
	struct columns *columns;
	struct buf plain, packed;
};

/* ---- Rows ------------------------------------------------------------------------------- */

static void put_processes(struct columns *columns, const struct series_top *top, enum machines_column pids)
{
	for (u32 i = 0; i < top->count; i++) {
		const struct series_process *process = &top->at[i];

		columns_number(columns, pids, process->pid);
		columns_text(columns, pids + 1, (struct str){ process->name, (u32)strnlen(process->name,
											   SERIES_NAME_BYTES) });
		columns_number(columns, pids + 2, process->amount);
	}
	for (u32 i = 0; i < 3; i++)
		columns_end(columns, pids + i);
}

void clickhouse_writer_row(struct columns *columns, const char *host, const struct series_row *row)
{
	static const enum machines_column numbers[SERIES_NUMBER_COUNT] = {
#define X(id, name, join, scale) [SERIES_##id] = MACHINES_##id,
		SERIES_NUMBERS(X)
#undef X
	};

	columns_number(columns, MACHINES_START, row->start_ns);
	columns_number(columns, MACHINES_END, row->end_ns);
	columns_text(columns, MACHINES_HOST, str_of(host));
	for (u32 n = 0; n < SERIES_NUMBER_COUNT; n++)
		columns_number(columns, numbers[n], row->numbers[n]);
	put_processes(columns, &row->top[SERIES_BY_CPU], MACHINES_CPU_PIDS);
	put_processes(columns, &row->top[SERIES_BY_MEMORY], MACHINES_MEMORY_PIDS);
	columns_end_row(columns);
}

/* ---- Requests ---------------------------------------------------------------------------- */

struct outcome {
	bool is_known;
	enum clickhouse_outcome is;
};

static void answered(void *arg, const struct clickhouse_reply *reply)
{
	*(struct outcome *)arg = (struct outcome){ true, reply->outcome };
}

/* Waits for it: that is what the thread is for. */
static enum clickhouse_outcome request(struct clickhouse_writer *writer, struct clickhouse_call call)
{
	struct outcome outcome = { 0 };
	int r;

	call.done = answered;
	call.arg = &outcome;
	r = clickhouse_begin(writer->server, &call, NULL);
	if (r < 0)
		return r == -ENOMEM ? CLICKHOUSE_RETRY : CLICKHOUSE_REFUSED;
	while (!outcome.is_known)
		clickhouse_wait(writer->server, -1);
	return outcome.is;
}

static enum clickhouse_outcome run_sql(struct clickhouse_writer *writer, struct buf *sql)
{
	buf_add(sql, "", 1);
	return buf_err(sql) < 0 ? CLICKHOUSE_RETRY : request(writer, (struct clickhouse_call){ .sql = sql->data });
}

static enum clickhouse_outcome make_tables(struct clickhouse_writer *writer)
{
	const struct clickhouse_schema *schema = &writer->options.schema;
	enum clickhouse_outcome outcome = CLICKHOUSE_DONE;
	const enum clickhouse_table *tables;
	u32 count;

	tables = clickhouse_tables(CLICKHOUSE_WICK, &count);
	for (u32 i = 0; i <= count && outcome == CLICKHOUSE_DONE; i++) {
		_cleanup_(buf_done) struct buf sql;

		buf_init(&sql, SQL_BYTES_MAX);
		if (!i)
			clickhouse_create_database(schema, &sql);
		else
			clickhouse_create_table(schema, tables[i - 1], &sql);
		outcome = run_sql(writer, &sql);
	}
	return outcome;
}

/* What fails because there are no tables is tried again with them. */
static enum clickhouse_outcome write_call(struct clickhouse_writer *writer, struct clickhouse_call call)
{
	enum clickhouse_outcome outcome = request(writer, call);

	if (outcome != CLICKHOUSE_MISSING)
		return outcome;
	outcome = writer->options.create_schema ? make_tables(writer) : CLICKHOUSE_REFUSED;
	return outcome == CLICKHOUSE_DONE ? request(writer, call) : outcome;
}

static int pack(struct clickhouse_writer *writer, const struct waiting_row *rows, u32 count)
{
	int r;

	columns_clear(writer->columns);
	for (u32 i = 0; i < count; i++)
		clickhouse_writer_row(writer->columns, rows[i].host, &rows[i].row);
	writer->plain.len = writer->packed.len = 0;
	writer->plain.err = writer->packed.err = 0;
	r = columns_encode(writer->columns, &writer->plain);
	return r < 0 ? r : compression_pack_level(writer->options.compression, PACK_LEVEL, writer->plain.data,
						  writer->plain.len, &writer->packed);
}

static enum clickhouse_outcome write_rows(struct clickhouse_writer *writer, const struct waiting_row *rows, u32 count)
{
	static const struct config_pair gathered[] = { { "async_insert", "1" }, { "wait_for_async_insert", "1" } };
	_cleanup_(buf_done) struct buf sql;
	int r = pack(writer, rows, count);

	buf_init(&sql, SQL_BYTES_MAX);
	clickhouse_insert(&writer->options.schema, CLICKHOUSE_MACHINES, &sql);
	buf_add(&sql, "", 1);
	if (r < 0 || buf_err(&sql) < 0)
		return r == -E2BIG ? CLICKHOUSE_REFUSED : CLICKHOUSE_RETRY;
	return write_call(writer, (struct clickhouse_call){
		.sql = sql.data, .data = writer->packed.data, .data_bytes = writer->packed.len,
		.packed = writer->options.compression, .settings = gathered,
		.setting_count = writer->options.has_async_insert ? 0 : 2,
	});
}

/* ---- The thread --------------------------------------------------------------------------- */

static void forget_rows(struct clickhouse_writer *writer, u32 count, struct metric *counter)
{
	metric_add(counter, count);
	writer->row_count -= count;
	memmove(writer->rows, writer->rows + count, writer->row_count * sizeof(*writer->rows));
}

static void forget_statement(struct clickhouse_writer *writer)
{
	free(writer->statements[0]);
	writer->statement_count--;
	memmove(writer->statements, writer->statements + 1, writer->statement_count * sizeof(*writer->statements));
}

/* Under the lock, which it lets go meanwhile; only this thread takes rows away. True: it is to be tried again. */
static bool write_waiting_rows(struct clickhouse_writer *writer)
{
	u32 count = writer->row_count;
	_cleanup_(freep) struct waiting_row *rows = count ? reallocarray(NULL, count, sizeof(*rows)) : NULL;
	enum clickhouse_outcome outcome;

	if (!rows)
		return count;
	memcpy(rows, writer->rows, count * sizeof(*rows));
	pthread_mutex_unlock(&writer->lock);
	outcome = write_rows(writer, rows, count);
	pthread_mutex_lock(&writer->lock);
	if (outcome == CLICKHOUSE_RETRY || outcome == CLICKHOUSE_MISSING)
		return true;
	forget_rows(writer, count, outcome == CLICKHOUSE_DONE ? writer->written : writer->lost[LOST_REFUSED]);
	return false;
}

static bool run_waiting_statements(struct clickhouse_writer *writer)
{
	while (writer->statement_count) {
		const char *sql = writer->statements[0];
		enum clickhouse_outcome outcome;

		pthread_mutex_unlock(&writer->lock);
		outcome = write_call(writer, (struct clickhouse_call){ .sql = sql });
		pthread_mutex_lock(&writer->lock);
		if (outcome == CLICKHOUSE_RETRY || outcome == CLICKHOUSE_MISSING)
			return true;
		forget_statement(writer);
	}
	return false;
}

static void write_all(struct clickhouse_writer *writer)
{
	bool again = write_waiting_rows(writer) || run_waiting_statements(writer);

	if (again)
		writer->due_ns = deadline_after(AGAIN_NS);
	else
		writer->due_ns = writer->row_count || writer->statement_count ? deadline_after(GATHER_NS) :
										DEADLINE_NEVER;
}

static void *run(void *arg)
{
	struct clickhouse_writer *writer = arg;

	LOCKED(&writer->lock);
	while (!writer->stop) {
		if (monotonic_ns() < writer->due_ns)
			(void)cond_wait_until(&writer->changed, &writer->lock, writer->due_ns);
		else
			write_all(writer);
	}
	write_all(writer);
	metric_add(writer->lost[LOST_END], writer->row_count);
	return NULL;
}

/* ---- Adding ------------------------------------------------------------------------------ */

static void write_until(struct clickhouse_writer *writer, u64 due_ns)
{
	if (due_ns >= writer->due_ns)
		return;
	writer->due_ns = due_ns;
	pthread_cond_signal(&writer->changed);
}

int clickhouse_writer_add(struct clickhouse_writer *writer, const char *host, const struct series_row *row)
{
	struct waiting_row *waiting;

	LOCKED(&writer->lock);
	if (writer->row_count >= ROWS_MAX ||
	    array_reserve(&writer->rows, &writer->row_cap, writer->row_count + 1, sizeof(*writer->rows)) < 0) {
		metric_add(writer->lost[LOST_FULL], 1);
		return -ENOBUFS;
	}
	waiting = &writer->rows[writer->row_count++];
	waiting->row = *row;
	(void)snprintf(waiting->host, sizeof(waiting->host), "%s", host);
	if (writer->due_ns == DEADLINE_NEVER)
		write_until(writer, deadline_after(GATHER_NS));
	if (writer->row_count == GATHERED_MAX)
		write_until(writer, monotonic_ns());
	return 0;
}

int clickhouse_writer_run(struct clickhouse_writer *writer, const char *sql)
{
	char *copy;

	LOCKED(&writer->lock);
	copy = writer->statement_count < STATEMENTS_MAX ? strdup(sql) : NULL;
	if (!copy)
		return -ENOBUFS;
	writer->statements[writer->statement_count++] = copy;
	if (writer->due_ns == DEADLINE_NEVER)
		write_until(writer, monotonic_ns());
	return 0;
}

/* ---- Life -------------------------------------------------------------------------------- */

static void add_metrics(struct clickhouse_writer *writer)
{
	static const char *const reasons[LOSS_COUNT] = {
#define X(id, text) text,
		LOSSES(X)
#undef X
	};
	struct metric_label labels[] = { { "exporter", writer->options.exporter }, { "reason", NULL } };

	writer->written = metrics_get(writer->options.metrics, METRIC_COUNTER, "wick_exporter_clickhouse_machine_rows",
				      "Rows about machines written to ClickHouse.", labels, 1);
	for (u32 i = 0; i < LOSS_COUNT; i++) {
		labels[1].value = reasons[i];
		writer->lost[i] = metrics_get(writer->options.metrics, METRIC_COUNTER,
					      "wick_exporter_clickhouse_machine_rows_lost",
					      "Rows about machines that were not written to ClickHouse.", labels, 2);
	}
}

static int start(struct clickhouse_writer *writer, struct buf *why)
{
	struct clickhouse_options options = writer->options.server;
	int r;

	options.timeout_ns = TIMEOUT_NS;
	writer->columns = columns_new(CLICKHOUSE_MACHINES, BLOCK_BYTES_MAX);
	if (!writer->columns)
		return -ENOMEM;
	r = clickhouse_new(&options, &writer->server, why);
	return r < 0 ? r : thread_start(&writer->thread, "wick: machines", run, writer);
}

int clickhouse_writer_new(const struct clickhouse_writer_options *options, struct clickhouse_writer **ret_writer,
			  struct buf *why)
{
	struct clickhouse_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->options = *options;
	writer->due_ns = DEADLINE_NEVER;
	buf_init(&writer->plain, BLOCK_BYTES_MAX);
	buf_init(&writer->packed, BLOCK_BYTES_MAX);
	pthread_mutex_init(&writer->lock, NULL);
	cond_init(&writer->changed);
	add_metrics(writer);
	r = start(writer, why);
	if (r < 0)
		clickhouse_writer_free(writer);
	else
		*ret_writer = writer;
	return r;
}

void clickhouse_writer_free(struct clickhouse_writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	pthread_cond_signal(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	thread_join(&writer->thread);
	while (writer->statement_count)
		forget_statement(writer);
	clickhouse_free(writer->server);
	columns_free(writer->columns);
	buf_done(&writer->plain);
	buf_done(&writer->packed);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer->rows);
	free(writer);
}
