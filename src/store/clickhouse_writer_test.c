// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse_writer.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "clickhouse/columns.h"
#include "net/peer_test.h"
#include "test.h"

#define DONE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define MISSING									\
	"HTTP/1.1 404 Not Found\r\nContent-Length: 67\r\n\r\n"			\
	"Code: 60. DB::Exception: Table x.y does not exist. (UNKNOWN_TABLE)\n"
#define REFUSED									\
	"HTTP/1.1 400 Bad Request\r\nContent-Length: 54\r\n\r\n"			\
	"Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR)\n"

static const struct series_row row = {
	.start_ns = 5 * SECOND_NS, .end_ns = 6 * SECOND_NS, .numbers = { [SERIES_CPUS] = 4, [SERIES_PROCESSES] = 99 },
	.top = { { 1, { { 7, 1500, "prog" } } }, { 2, { { 8, 4096, "large" }, { 7, 5, "prog" } } } },
};

struct fixture {
	struct peer peer;
	struct metrics *metrics;
	struct clickhouse_writer *writer;
};

static void begin(struct fixture *f, bool create_schema)
{
	struct clickhouse_writer_options options = {
		.server = { .url = "http://ch:8123", .client = { .unix_socket = f->peer.path } },
		.schema = { .database = "fleet" }, .compression = COMPRESSION_NONE, .create_schema = create_schema,
		.exporter = "clickhouse",
	};
	struct buf why;
	int r;

	if (f->peer.answers[0])
		peer_start(&f->peer);
	else
		snprintf(f->peer.path, sizeof(f->peer.path), "/nonexistent/clickhouse");
	options.metrics = f->metrics = metrics_new();
	buf_init(&why, 1024);
	r = clickhouse_writer_new(&options, &f->writer, &why);
	buf_done(&why);
	if (r == -ENOSYS)
		SKIP("no libcurl here");
	EQ(r, 0);
}

static long long counter(struct fixture *f, const char *name, const char *reason)
{
	struct metric_label labels[] = { { "exporter", "clickhouse" }, { "reason", reason } };

	return metric_value(metrics_get(f->metrics, METRIC_COUNTER, name, "", labels, reason ? 2 : 1));
}

/* The end does not wait for more rows: what is there is written. */
static void end(struct fixture *f, u32 written, u32 refused, u32 left)
{
	clickhouse_writer_free(f->writer);
	if (f->peer.answers[0])
		peer_stop(&f->peer);
	EQ(counter(f, "wick_exporter_clickhouse_machine_rows", NULL), written);
	EQ(counter(f, "wick_exporter_clickhouse_machine_rows_lost", "refused"), refused);
	EQ(counter(f, "wick_exporter_clickhouse_machine_rows_lost", "end"), left);
	metrics_free(f->metrics);
}

TEST(clickhouse_writer_fills_every_column_of_a_row)
{
	_cleanup_(columns_freep) struct columns *columns = columns_new(CLICKHOUSE_MACHINES, 1 << 16);
	_cleanup_(buf_done) struct buf block;

	buf_init(&block, 1 << 16);
	clickhouse_writer_row(columns, "here", &row);
	clickhouse_writer_row(columns, "there", &(struct series_row){ .start_ns = 1, .end_ns = 2 });
	EQ(columns_err(columns), 0);
	EQ(columns_rows(columns), 2);
	EQ(columns_encode(columns, &block), 0);
	EQ(block.data[0], MACHINES_COLUMN_COUNT);
	OK(memmem(block.data, block.len, "large", 5));
}

TEST(clickhouse_writer_writes_rows_as_one_block)
{
	struct fixture f = { .peer.answers = { DONE } };

	begin(&f, true);
	EQ(clickhouse_writer_add(f.writer, "here", &row), 0);
	EQ(clickhouse_writer_add(f.writer, "there", &row), 0);
	end(&f, 2, 0, 0);
	OK(strstr(f.peer.seen[0], "async_insert=1&wait_for_async_insert=1&"));
	OK(strstr(f.peer.seen[0], "query=INSERT%20INTO%20%60fleet%60.%60wick_machines%60%20%28Start%2C"));
}

TEST(clickhouse_writer_makes_tables_that_are_missing)
{
	struct fixture f = { .peer.answers = { MISSING, DONE, DONE, DONE, DONE, DONE, DONE } };

	begin(&f, true);
	EQ(clickhouse_writer_add(f.writer, "here", &row), 0);
	end(&f, 1, 0, 0);
	OK(strstr(f.peer.seen[1], "CREATE DATABASE IF NOT EXISTS `fleet`"));
	OK(strstr(f.peer.seen[2], "`wick_samples`"));
	OK(strstr(f.peer.seen[5], "`wick_notes`"));
	OK(strstr(f.peer.seen[6], "wick_machines"));
}

TEST(clickhouse_writer_counts_what_is_refused)
{
	struct fixture f = { .peer.answers = { REFUSED } }, g = { .peer.answers = { MISSING } };

	begin(&f, true);
	EQ(clickhouse_writer_add(f.writer, "here", &row), 0);
	end(&f, 0, 1, 0);
	begin(&g, false);
	EQ(clickhouse_writer_add(g.writer, "here", &row), 0);
	end(&g, 0, 1, 0);
}

TEST(clickhouse_writer_keeps_so_much_for_a_server_that_is_away)
{
	struct fixture f = { 0 };
	u32 kept = 0, refused = 0;

	begin(&f, true);
	for (u32 i = 0; i < 5000; i++) {
		int r = clickhouse_writer_add(f.writer, "here", &row);

		kept += r == 0;
		refused += r == -ENOBUFS;
	}
	EQ(kept, 4096);
	EQ(kept + refused, 5000);
	EQ(counter(&f, "wick_exporter_clickhouse_machine_rows_lost", "queue_full"), refused);
	end(&f, 0, 0, 4096);
}

TEST(clickhouse_writer_runs_statements_after_rows)
{
	struct fixture f = { .peer.answers = { DONE } };

	begin(&f, true);
	EQ(clickhouse_writer_run(f.writer, "INSERT INTO x VALUES (1)"), 0);
	end(&f, 0, 0, 0);
	OK(strstr(f.peer.seen[0], "\r\n\r\nINSERT INTO x VALUES (1)"));
}
