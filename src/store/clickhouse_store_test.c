// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse.h"

#include <errno.h>
#include <string.h>

#include "net/peer_test.h"
#include "test.h"

#define OK_OF(bytes) "HTTP/1.1 200 OK\r\nContent-Length: " bytes "\r\n\r\n"
#define MISSING									\
	"HTTP/1.1 404 Not Found\r\nContent-Length: 67\r\n\r\n"			\
	"Code: 60. DB::Exception: Table x.y does not exist. (UNKNOWN_TABLE)\n"

static struct store *open_store(const struct peer *peer)
{
	struct store_clickhouse_options options = {
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
	OK(strstr(peer.seen[0], "\r\n\r\nSELECT toString(ProcessName) AS Label"));
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
