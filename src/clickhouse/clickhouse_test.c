// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/clickhouse.h"

#include <errno.h>

#include "net/peer_test.h"
#include "test.h"

#define MISSING "Code: 60. DB::Exception: Table x.y does not exist. (UNKNOWN_TABLE)\n"

static struct clickhouse *new_server(const struct clickhouse_options *options)
{
	struct clickhouse *server = NULL;
	struct buf why;

	buf_init(&why, 1024);
	if (clickhouse_new(options, &server, &why) == -ENOSYS)
		SKIP("no libcurl here");
	OK(server);
	buf_done(&why);
	return server;
}

static void note(void *arg, const struct clickhouse_reply *reply)
{
	*(struct clickhouse_reply *)arg = *reply;
	((struct clickhouse_reply *)arg)->answer = reply->answer;
}

TEST(clickhouse_asks_and_inserts)
{
	static const char rows[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n\1\1n\5UInt8\7";
	struct peer peer = { .answers = { rows, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
					  "HTTP/1.1 404 Not Found\r\nContent-Length: 67\r\n\r\n" MISSING },
			     .answer_bytes = { sizeof(rows) - 1 } };
	const struct config_pair pair = { "max_threads", "2" };
	const struct config_pair token = { "insert_deduplication_token", "a&b" };
	const struct config_pairs settings = { 1, &pair };
	struct clickhouse_options options = {
		.url = "http://ch:8123?async=1", .username = "u", .password = "p w", .database = "a b",
		.settings = &settings, .client = { .unix_socket = peer.path },
	};
	struct clickhouse_reply reply = { 0 };
	struct clickhouse *server;
	struct tuples tuples;
	struct buf why;

	buf_init(&why, 1024);
	tuples_init(&tuples, 1000);
	peer_start(&peer);
	server = new_server(&options);
	EQ(clickhouse_query(server, "SELECT 7 AS n", "UInt8", &tuples, &why), 0);
	EQ(tuples_uint(&tuples, 1), 7);
	tuples_done(&tuples);
	EQ(clickhouse_begin(server, &(struct clickhouse_call){
		.sql = "INSERT INTO t FORMAT Native", .data = "data", .data_bytes = 4, .packed = COMPRESSION_ZSTD,
		.settings = &token, .setting_count = 1, .done = note, .arg = &reply }, NULL), 0);
	while (!reply.answer)
		clickhouse_wait(server, -1);
	EQ(reply.outcome, CLICKHOUSE_DONE);
	tuples_init(&tuples, 1000);
	EQ(clickhouse_query(server, "SELECT * FROM y", "UInt8", &tuples, &why), -ENOENT);
	tuples_done(&tuples);
	STREQ(why.data, "Table x.y does not exist (code 60, UNKNOWN_TABLE)");
	buf_done(&why);
	clickhouse_free(server);
	peer_stop(&peer);
	OK(strstr(peer.seen[0], "POST /?wait_end_of_query=1&database=a%20b&async=1&max_threads=2&"
				"default_format=RowBinaryWithNamesAndTypes HTTP/1.1\r\n"));
	OK(strstr(peer.seen[0], "\r\nx-clickhouse-user: u\r\nx-clickhouse-key: p w\r\n"));
	OK(strstr(peer.seen[0], "\r\n\r\nSELECT 7 AS n"));
	OK(strstr(peer.seen[1], "&insert_deduplication_token=a%26b&query=INSERT%20INTO%20t%20FORMAT%20Native HTTP"));
	OK(strstr(peer.seen[1], "\r\ncontent-encoding: zstd\r\n"));
	OK(strstr(peer.seen[1], "\r\n\r\ndata"));
}

TEST(clickhouse_answers_are_bounded_and_checked)
{
	static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n\1\1n\5UInt8\7";
	static const char late[] = "HTTP/1.1 200 OK\r\nX-ClickHouse-Exception-Code: 241\r\nContent-Length: 0\r\n\r\n";
	struct peer peer = { .answers = { good, good, late },
			     .answer_bytes = { sizeof(good) - 1, sizeof(good) - 1 } };
	struct clickhouse_options options = { .url = "http://ch/x/", .password = "p",
					      .client = { .unix_socket = peer.path } };
	static const int want[] = { -EBADMSG, -E2BIG, -EAGAIN };
	struct clickhouse *server;

	peer_start(&peer);
	server = new_server(&options);
	for (int i = 0; i < 3; i++) {
		struct tuples tuples;
		struct buf why;

		buf_init(&why, 1024);
		tuples_init(&tuples, i == 1 ? 5 : 1000);
		EQ(clickhouse_query(server, "SELECT 7 AS n", "UInt16", &tuples, &why), want[i]);
		OK(why.len);
		tuples_done(&tuples);
		buf_done(&why);
	}
	clickhouse_free(server);
	peer_stop(&peer);
	OK(strstr(peer.seen[0], "POST /x/?wait_end_of_query=1&default_format="));
	OK(strstr(peer.seen[0], "\r\nx-clickhouse-user: default\r\nx-clickhouse-key: p\r\n"));
}

TEST(clickhouse_urls_are_checked)
{
	OK(!clickhouse_url_problem("http://h:8123"));
	OK(!clickhouse_url_problem("https://h:8443/path?x=y"));
	OK(strstr(clickhouse_url_problem("tcp://h:9000"), "http://host:8123"));
	OK(strstr(clickhouse_url_problem("clickhouse://h:9000"), "http://host:8123"));
	OK(strstr(clickhouse_url_problem("h:8123"), "no URL"));
	OK(strstr(clickhouse_url_problem("http:///x"), "no host"));
	OK(strstr(clickhouse_url_problem("http://h x"), "character"));
	OK(strstr(clickhouse_url_problem("http://h/#x"), "character"));
}

TEST(clickhouse_passwords_that_cannot_be_sent_are_refused)
{
	struct clickhouse_options options = { .url = "http://h:8123", .username = "u", .password = "secret\n" };
	struct clickhouse *server = NULL;
	struct buf why;

	buf_init(&why, 1024);
	EQ(clickhouse_new(&options, &server, &why), -EINVAL);
	OK(strstr(why.data, "end of a line"));
	OK(!strstr(why.data, "secret"));
	buf_done(&why);
}

TEST(clickhouse_urls_are_shown_without_secrets)
{
	static const char *const cases[][2] = {
		{ "http://h:8123", "http://h:8123" }, { "https://h/path?password=x", "https://h/path" },
		{ "http://u:secret@h:8123/?a@b", "http://h:8123/" }, { "http://u:s/cr@t@h", "http://h" },
		{ "tcp://u:secret@h:9000", "tcp://h:9000" }, { "u:secret@h", "h" }, { "", "" }, { "?x", "" },
		{ "@", "" },
	};
	char shown[CLICKHOUSE_SHOWN_BYTES], url[4000];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		clickhouse_url_shown(cases[i][0], shown);
		STREQ(shown, cases[i][1]);
	}
	memset(url, 'x', sizeof(url) - 1);
	url[sizeof(url) - 1] = '\0';
	clickhouse_url_shown(url, shown);
	EQ(strlen(shown), sizeof(shown) - 1);
}
