// SPDX-License-Identifier: Apache-2.0
#include "net/http1_parse.h"

#include <errno.h>

#include "test.h"

static int gather(void *arg, const char *name, size_t name_len, const char *value, size_t value_len)
{
	char *text = arg;
	size_t len = strlen(text);

	snprintf(text + len, 1000 - len, "%.*s=%.*s|", (int)name_len, name, (int)value_len, value);
	return 0;
}

static int parse(const char *text, char *headers, struct http1_head *head)
{
	static char copy[2000];
	size_t len = strlen(text);

	memcpy(copy, text, len + 1);
	headers[0] = '\0';
	EQ(http1_head_bytes(copy, len, 0), len);
	return http1_parse_head(copy, len, gather, headers, head);
}

TEST(http1_reads_a_request)
{
	struct http1_head head;
	char headers[1000];

	EQ(parse("POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-LENGTH:  12 \r\nX-Empty:\r\n"
		 "Connection: foo, Close\r\n\r\n", headers, &head), 0);
	STREQ(headers, "host=x|content-length=12|x-empty=|connection=foo, Close|");
	EQ(head.content_length, 12);
	OK(!head.keep_alive && !head.chunked && !head.http10);
	OK(!strncmp(head.target, "/a?b=c", head.target_len));
	EQ(parse("GET http://host:80/p HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", headers, &head), 0);
	OK(head.http10 && head.keep_alive);
	EQ(head.target_len, 2);
	EQ(parse("PUT / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: Chunked\r\nexpect: 100-continue\r\n\r\n",
		 headers, &head), 0);
	OK(head.chunked && head.expect_continue && head.keep_alive);
	EQ(head.content_length, -1);
}

TEST(http1_refuses_what_two_readers_could_understand_differently)
{
	static const struct { const char *text; int error; } bad[] = {
		{ "GET / HTTP/1.1\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nhost : a\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nhost: a\r\n folded\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nhost: a\nx: y\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nhost: a\rx: y\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nhost: a\r\nx: \001\r\n\r\n", -EBADMSG },
		{ "GET  / HTTP/1.1\r\nhost: a\r\n\r\n", -EBADMSG },
		{ "GET /a b HTTP/1.1\r\nhost: a\r\n\r\n", -EBADMSG },
		{ "GET a HTTP/1.1\r\nhost: a\r\n\r\n", -EBADMSG },
		{ "GET http://a HTTP/1.1\r\nhost: a\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1 \r\nhost: a\r\n\r\n", -EBADMSG },
		{ "GET /\r\nhost: a\r\n\r\n", -EBADMSG },
		{ "G\"T / HTTP/1.1\r\nhost: a\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/2.0\r\nhost: a\r\n\r\n", -EPROTONOSUPPORT },
		{ "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", -EBADMSG },
		{ "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n", -EBADMSG },
		{ "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\n", -EBADMSG },
		{ "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1, 1\r\n\r\n", -EBADMSG },
		{ "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9999999999999999999\r\n\r\n", -EBADMSG },
		{ "POST / HTTP/1.1\r\nhost: a\r\ncontent-length:\r\n\r\n", -EBADMSG },
		{ "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n", -ENOSYS },
		{ "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
		  -EBADMSG },
		{ "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n", -EBADMSG },
		{ "POST / HTTP/1.1\r\nhost: a\r\nexpect: a cake\r\n\r\n", -EINVAL },
	};
	struct http1_head head;
	char headers[1000];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse(bad[i].text, headers, &head) != bad[i].error)
			FAIL("not refused as it should be: %s", bad[i].text);
}

/* Fed in pieces of `step` bytes. */
static int read_chunks(const char *text, size_t step, char *body, size_t *ret_left)
{
	struct http1_chunks chunks = { 0 };
	size_t len = strlen(text), piece_bytes;
	const char *piece;
	int r = -EAGAIN;

	body[0] = '\0';
	for (size_t from = 0; from < len && r == -EAGAIN; from += step) {
		const char *at = text + from;
		size_t bytes = len - from < step ? len - from : step;

		while ((r = http1_chunk(&chunks, &at, &bytes, &piece, &piece_bytes)) == 1)
			strncat(body, piece, piece_bytes);
		*ret_left = bytes;
	}
	return r;
}

TEST(http1_reads_chunks_however_they_are_cut)
{
	static const char text[] = "3;ext=1\r\nabc\r\n0a\r\n0123456789\r\n0\r\nX-Trailer: y\r\n\r\nGET";
	char body[100];
	size_t left;

	for (size_t step = 1; step <= sizeof(text); step++) {
		int r = read_chunks(text, step, body, &left);

		EQ(r, 0);
		STREQ(body, "abc0123456789");
	}
	EQ(left, 3);
}

TEST(http1_refuses_bad_chunks)
{
	static const char *const bad[] = { "x\r\n", "\r\n", "3\nabc", "3\r\nabcd", "3\r\nabc\n",
					   "123456789\r\n", "-1\r\n", "1 \r\n", "1;\n", "0\r\n\n", "0\r\nx\n" };
	char body[100], large[9000];
	size_t left;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (read_chunks(bad[i], 1, body, &left) != -EBADMSG)
			FAIL("taken: %s", bad[i]);
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	memcpy(large, "1;", 2);
	EQ(read_chunks(large, 100, body, &left), -EBADMSG);
}
