// SPDX-License-Identifier: Apache-2.0
/* Requests over a unix socket to a thread that answers with what the test says. gRPC: test/exporters.py. */
#include "net/client.h"

#include <errno.h>
#include <fcntl.h>

#include "net/client_tls.h"
#include "net/peer_test.h"
#include "test.h"

struct outcome {
	int count, error, status;
	bool too_large;
	char body[256], header[64], error_text[256];
};

static void note(void *arg, const struct client_answer *answer)
{
	struct outcome *outcome = arg;
	const char *header = client_answer_header(answer, "x-test");

	outcome->count++;
	outcome->error = answer->error;
	outcome->status = answer->status;
	outcome->too_large = answer->too_large;
	snprintf(outcome->body, sizeof(outcome->body), "%.*s", (int)answer->body.len, answer->body.data);
	snprintf(outcome->header, sizeof(outcome->header), "%s", header ? header : "-");
	snprintf(outcome->error_text, sizeof(outcome->error_text), "%s", answer->error_text);
}

static struct client *new_client(struct client_options *options)
{
	struct client *client = NULL;
	struct buf why;

	buf_init(&why, 1024);
	if (client_new(options, &client, &why) == -ENOSYS)
		SKIP("no libcurl here");
	OK(client);
	buf_done(&why);
	return client;
}

static void run(struct client *client, struct client_call call, struct outcome *outcome)
{
	*outcome = (struct outcome){ 0 };
	call.done = note;
	call.arg = outcome;
	if (!call.method)
		call.method = "POST";
	if (!call.url)
		call.url = "http://backend/v1development/profiles";
	EQ(client_begin(client, &call, NULL), 0);
	while (!outcome->count)
		client_wait(client, -1);
	EQ(outcome->count, 1);
}

TEST(client_sends_prefix_and_body_and_reads_the_answer)
{
	struct peer peer = { .answers = {
		"HTTP/1.1 100 Continue\r\nX-Test: early\r\n\r\n"
		"HTTP/1.1 202 Fine\r\nX-Test: first\r\nX-TEST:  last \r\nContent-Length: 5\r\n\r\nhello" } };
	struct client_options options = { .unix_socket = peer.path };
	struct http_header headers[] = { { "x-one", "1" }, { "x-empty", "" } };
	struct outcome outcome;
	struct client *client;

	peer_start(&peer);
	client = new_client(&options);
	run(client, (struct client_call){ .headers = headers, .header_count = 2, .prefix = "pre", .prefix_bytes = 3,
					  .body = "body", .body_bytes = 4 }, &outcome);
	EQ(outcome.error, 0);
	EQ(outcome.status, 202);
	STREQ(outcome.body, "hello");
	STREQ(outcome.header, "last");
	client_free(client);
	peer_stop(&peer);
	OK(strstr(peer.seen[0], "POST /v1development/profiles HTTP/1.1\r\nHost: backend\r\n"));
	OK(strstr(peer.seen[0], "\r\nUser-Agent: wick/"));
	OK(strstr(peer.seen[0], "\r\nx-one: 1\r\n"));
	OK(strstr(peer.seen[0], "\r\nx-empty:\r\n"));
	OK(!strstr(peer.seen[0], "Expect"));
	OK(strstr(peer.seen[0], "\r\nContent-Length: 7\r\n"));
	OK(strstr(peer.seen[0], "\r\n\r\nprebody"));
}

TEST(client_keeps_a_connection_for_the_next_request)
{
	const char *fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	struct peer peer = { .answers = { fine, fine, fine } };
	struct client_options options = { .unix_socket = peer.path };
	struct outcome outcome;
	struct client *client;

	peer_start(&peer);
	client = new_client(&options);
	for (int i = 0; i < 3; i++) {
		run(client, (struct client_call){ .body = "x", .body_bytes = 1 }, &outcome);
		EQ(outcome.status, 200);
	}
	client_free(client);
	peer_stop(&peer);
	EQ(peer.connections, 1);
}

TEST(client_sends_again_when_a_kept_connection_was_closed)
{
	const char *fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	struct peer peer = { .answers = { fine, fine }, .close_between = true };
	struct client_options options = { .unix_socket = peer.path };
	struct outcome outcome;
	struct client *client;

	peer_start(&peer);
	client = new_client(&options);
	run(client, (struct client_call){ .body = "x", .body_bytes = 1 }, &outcome);
	run(client, (struct client_call){ .prefix = "p", .prefix_bytes = 1, .body = "again", .body_bytes = 5 },
	    &outcome);
	EQ(outcome.status, 200);
	client_free(client);
	peer_stop(&peer);
	OK(strstr(peer.seen[1], "\r\n\r\npagain"));
	EQ(peer.connections, 2);
}

TEST(client_cuts_an_answer_that_is_too_long)
{
	struct peer peer = { .answers = { "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789" } };
	struct client_options options = { .unix_socket = peer.path };
	struct outcome outcome;
	struct client *client;

	peer_start(&peer);
	client = new_client(&options);
	run(client, (struct client_call){ .answer_max = 4 }, &outcome);
	EQ(outcome.error, 0);
	EQ(outcome.status, 200);
	OK(outcome.too_large);
	STREQ(outcome.body, "0123");
	client_free(client);
	peer_stop(&peer);
}

TEST(client_says_when_no_answer_comes)
{
	struct peer peer = { .answers = { "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123" } };
	struct client_options options = { .unix_socket = peer.path };
	struct outcome outcome;
	struct client *client;

	peer_start(&peer);
	client = new_client(&options);
	run(client, (struct client_call){ .body = "x", .body_bytes = 1 }, &outcome);
	EQ(outcome.error, -EIO);
	EQ(outcome.status, 0);
	OK(*outcome.error_text);
	peer_stop(&peer);
	run(client, (struct client_call){ .body = "x", .body_bytes = 1 }, &outcome);
	EQ(outcome.error, -ECONNREFUSED);
	client_free(client);
}

TEST(client_gets_and_refuses_what_is_longer_than_the_buffer)
{
	const char *fine = "HTTP/1.1 404 No\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnone";
	struct peer peer = { .answers = { fine, fine } };
	struct client_options options = { .unix_socket = peer.path };
	struct buf body, why;
	int status = 0, r;

	peer_start(&peer);
	buf_init(&body, 16);
	buf_init(&why, 256);
	r = client_get(&options, "http://localhost/a?b", NULL, 0, 0, &body, &status, &why);
	EQ(r, 0);
	EQ(status, 404);
	EQ(body.len, 4);
	r = client_get(&options, "http://localhost/", NULL, 0, 0, &(struct buf){ .max = 3 }, &status, &why);
	EQ(r, -E2BIG);
	STREQ(why.data, "the answer is larger than 3 bytes");
	peer_stop(&peer);
	OK(strstr(peer.seen[0], "GET /a?b HTTP/1.1\r\nHost: localhost\r\n"));
	buf_done(&body);
	buf_done(&why);
}

TEST(client_refuses_headers_and_urls_that_cannot_be_sent)
{
	static const struct http_header bad[] = {
		{ "a", "b\r\nc: d" }, { "a\nb", "c" }, { "", "b" }, { "a:", "b" }, { "a b", "c" },
	};
	struct client *client = new_client(&(struct client_options){ 0 });
	struct client_call call = { .method = "GET", .url = "http://localhost/", .header_count = 1, .done = note };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		call.headers = &bad[i];
		EQ(client_begin(client, &call, NULL), -EINVAL);
	}
	call.header_count = 0;
	call.url = "file:///etc/passwd";
	EQ(client_begin(client, &call, NULL), -EINVAL);
	call.url = "http://";
	EQ(client_begin(client, &call, NULL), -EINVAL);
	client_free(client);
}

TEST(client_forgets_a_request_that_is_cancelled)
{
	struct client_options options = { .unix_socket = "/nonexistent/socket" };
	struct client *client = new_client(&options);
	struct outcome outcome = { 0 };
	struct client_call call = { .method = "GET", .url = "http://localhost/", .done = note, .arg = &outcome };
	struct client_request *request;

	EQ(client_begin(client, &call, &request), 0);
	client_cancel(client, request);
	EQ(client_begin(client, &call, &request), 0);
	client_wait(client, 0);
	EQ(client_begin(client, &call, NULL), 0);
	client_free(client);
	OK(outcome.count <= 1);
}

TEST(client_wakes_from_another_thread)
{
	struct client *client = new_client(&(struct client_options){ 0 });

	client_wake(client);
	client_wait(client, -1);	/* for a minute, if the wake were lost */
	client_free(client);
}

/* ---- TLS --------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	OK(file);
	fputs(text, file);
	fclose(file);
}

TEST(client_tls_reads_files_again_when_they_change)
{
	char path[] = "/tmp/wick-pem-XXXXXX";
	struct tls_client_options options = { .ca_file = path, .reload_interval_ns = 1000 };
	struct client_tls tls;
	struct buf why;

	close(mkstemp(path));
	buf_init(&why, 256);
	write_file(path, "old");
	EQ(client_tls_init(&tls, &options, &why), 0);
	EQ(tls.ca.text.len, 3);
	write_file(path, "newer");
	client_tls_reload(&tls, tls.reload_ns - 1);
	EQ(tls.ca.text.len, 3);
	client_tls_reload(&tls, tls.reload_ns);
	EQ(tls.ca.text.len, 5);
	EQ(unlink(path), 0);
	client_tls_reload(&tls, tls.reload_ns);
	EQ(tls.ca.text.len, 5);
	client_tls_done(&tls);
	EQ(client_tls_init(&tls, &options, &why), -ENOENT);
	OK(strstr(why.data, "cannot read ca_file /tmp/wick-pem-"));
	client_tls_done(&tls);
	buf_done(&why);
}

TEST(client_tls_knows_ciphers_and_curves_by_the_names_of_the_collector)
{
	static const char *const ciphers[] = { "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256",
					       "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" };
	static const char *const curves[] = { "X25519", "P384" }, *const bad[] = { "ROT13" };
	struct tls_client_options options = { .cipher_suites = { 3, ciphers }, .curve_preferences = { 2, curves } };
	struct client_tls tls;
	struct buf why;

	buf_init(&why, 512);
	EQ(client_tls_init(&tls, &options, &why), 0);
	STREQ(tls.ciphers.data, "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305");
	STREQ(tls.curves.data, "X25519:P-384");
	client_tls_done(&tls);
	options = (struct tls_client_options){ .cipher_suites = { 1, bad } };
	EQ(client_tls_init(&tls, &options, &why), -EINVAL);
	client_tls_done(&tls);
	options = (struct tls_client_options){ .curve_preferences = { 1, bad } };
	EQ(client_tls_init(&tls, &options, &why), -EINVAL);
	client_tls_done(&tls);
	OK(strstr(why.data, "there is no ROT13"));
	buf_done(&why);
}
