// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse.h"

#include <errno.h>
#include <string.h>

#include "base/metrics.h"
#include "net/peer_test.h"
#include "store/notes.h"
#include "store/series.h"
#include "store/shared.h"
#include "test.h"

#define OK_OF(bytes) "HTTP/1.1 200 OK\r\nContent-Length: " bytes "\r\n\r\n"
#define MISSING									\
	"HTTP/1.1 404 Not Found\r\nContent-Length: 67\r\n\r\n"			\
	"Code: 60. DB::Exception: Table x.y does not exist. (UNKNOWN_TABLE)\n"

static struct store *open_writing(const struct peer *peer, const struct clickhouse_writer_options *writer)
{
	struct store_clickhouse_options options = {
		.writer = writer,
		.server = { .url = "http://u:secret@ch:8123/?a=secret", .database = "fleet",
			    .client = { .unix_socket = peer->path } },
		.host = "here",
	};
	struct store *store = NULL;
	struct buf why;
	int r;

	buf_init(&why, 1024);
	r = store_open_clickhouse(&options, &store, &why);
	buf_done(&why);
	if (r == -ENOSYS)
		SKIP("no libcurl here");
	EQ(r, 0);
	return store;
}

static struct store *open_store(const struct peer *peer)
{
	return open_writing(peer, NULL);
}

static void expect_sentence(struct store *store, const char *text)
{
	struct buf why;

	buf_init(&why, 1024);
	store_explain(store, &why);
	STREQ(why.data, text);
	buf_done(&why);
}

TEST(clickhouse_store_answers_and_says_why_it_cannot)
{
	static const char good[] = OK_OF("30") "\2\1l\1t\6String\5Int64\3web\7\0\0\0\0\0\0\0";
	static const char other[] = OK_OF("17") "\2\1l\1t\5UInt8\5Int64";
	struct store_selection selection = { .from_ns = 1, .to_ns = 2 };
	struct peer peer = { .answers = { good, MISSING, other },
			     .answer_bytes = { sizeof(good) - 1, 0, sizeof(other) - 1 } };
	struct store_values values;
	struct store *store;

	peer_start(&peer);
	store = open_store(&peer);
	STREQ(store_backend(store), "clickhouse");
	STREQ(store_host(store), "here");
	OK(!store_directory(store));
	EQ(store_values(store, &selection, STORE_PROCESS, 9, &values), 0);
	EQ(values.count, 1);
	STREQ(values.at[0].text, "web");
	EQ(values.at[0].total, 7);
	store_values_done(&values);
	EQ(store_values(store, &selection, STORE_PROCESS, 9, &values), -EIO);
	expect_sentence(store, "ClickHouse at http://ch:8123/: there are no profiles of wick in this database; the "
			       "exporter clickhouse makes their tables with the first it writes");
	EQ(store_values(store, &selection, STORE_PROCESS, 9, &values), -EIO);
	expect_sentence(store, "ClickHouse at http://ch:8123/: the answer cannot be read, or is of other types than "
			       "asked for");
	store_close(store);
	peer_stop(&peer);
	OK(strstr(peer.seen[0], "database=fleet&"));
	OK(strstr(peer.seen[0], "&a=secret&"));
	OK(strstr(peer.seen[0], "\r\n\r\nSELECT Label, toInt64(sum(Sum)) AS Total FROM (SELECT "
				"toString(ProcessName) AS Label"));
}

TEST(clickhouse_store_that_is_away_is_no_reason_to_stop)
{
	struct peer nobody = { .path = "/nonexistent/clickhouse" };
	struct store_selection selection = { .from_ns = 1, .to_ns = 2 };
	struct store *store = open_store(&nobody);
	struct store_stats stats;
	struct calltree *flame;
	u64 before = store_generation(store);

	/* Within what somebody wants to know it changes only if the server does; that it is away is found out later. */
	OK(store_generation(store) - before <= 1);
	EQ(store_flame(store, &selection, STORE_LABEL_COUNT, &flame), -EIO);
	EQ(store_stats(store, &stats), -EIO);
	store_close(store);
}

/* Exporters of before have made no such tables: what is not there is nothing, not a failure. */
TEST(clickhouse_store_without_machines_and_notes)
{
	struct store_selection selection = { .from_ns = 1, .to_ns = 2 };
	struct peer peer = { .answers = { MISSING, MISSING, MISSING, MISSING } };
	struct series_rows rows = { .count = 7 };
	struct store *store;
	s64 id;

	peer_start(&peer);
	store = open_store(&peer);
	EQ(series_read(store, "it's", 1, 2, 10, &rows), 0);
	EQ(rows.count, 0);
	EQ(store_each_note(store, &selection, NULL, NULL), 0);
	EQ(store_drop_note(store, 7), 0);
	EQ(store_add_note(store, &(struct store_note){ 0, 1, 0, "k", "t", "", "", "" }, 1, &id), -EIO);
	EQ(series_add(store, &(struct series_row){ .start_ns = 1, .end_ns = 2 }), -EOPNOTSUPP);
	store_close(store);
	peer_stop(&peer);
	OK(strstr(peer.seen[0], "WHERE HostName = 'it\\'s'"));
	OK(strstr(peer.seen[3], "'k', 't', '', '', '', 0)"));
}

TEST(clickhouse_store_of_an_exporter_takes_rows_of_all_hosts)
{
	struct peer peer = { .answers = { OK_OF("0") } };
	struct series_row row = { .start_ns = 1, .end_ns = 2 };
	struct metrics *metrics = metrics_new();
	struct clickhouse_writer_options writer = { .metrics = metrics, .exporter = "clickhouse" };
	struct metric_label label = { "exporter", "clickhouse" };
	struct store *store, *borrowed;

	peer_start(&peer);
	writer.server = (struct clickhouse_options){ .url = "http://ch:8123", .client = { .unix_socket = peer.path } };
	store = open_writing(&peer, &writer);
	OK(!store_borrow(""));
	EQ(store_share(store), 0);
	borrowed = store_borrow("");
	OK(borrowed == store);
	OK(!store_borrow("/anywhere"));
	EQ(series_add_all(&row), 0);
	EQ(series_add_other_all(&(struct series_other){ .host = "other" }, &row), 0);
	EQ(series_add_other_all(&(struct series_other){ .host = "" }, &row), -EINVAL);
	store_release(borrowed);
	store_unshare(store);
	OK(!store_borrow(""));
	peer_stop(&peer);
	EQ(metric_value(metrics_get(metrics, METRIC_COUNTER, "wick_exporter_clickhouse_machine_rows", "", &label, 1)),
	   2);
	metrics_free(metrics);
}

static void *leave(void *arg)
{
	store_unshare(arg);
	return NULL;
}

TEST(shared_stores_are_closed_when_nobody_uses_them_any_more)
{
	struct peer nobody = { .path = "/nonexistent/clickhouse" };
	struct store *store = open_store(&nobody), *borrowed, *again;
	pthread_t thread;

	EQ(store_share(store), 0);
	borrowed = store_borrow("");
	OK(borrowed == store);
	EQ(pthread_create(&thread, NULL, leave, store), 0);
	while ((again = store_borrow("")))
		store_release(again);
	STREQ(store_host(borrowed), "here");
	store_release(borrowed);
	EQ(pthread_join(thread, NULL), 0);
}
