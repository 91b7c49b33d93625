// SPDX-License-Identifier: Apache-2.0
#include "net/server_test.h"

#include "wire/compression.h"

#define MESSAGE_MAX 2000

/* Replies with what exchange_message() returned, and the message. */
static void tell(void *arg, struct exchange *exchange)
{
	struct buf message, body;
	int r;

	buf_init(&message, MESSAGE_MAX);
	buf_init(&body, 2 * MESSAGE_MAX);
	r = exchange_message(exchange, &message);
	buf_addf(&body, "%s:%.*s.", r < 0 ? strerror(-r) : "ok", r < 0 ? 0 : (int)message.len,
		 message.data ? message.data : "");
	buf_done(&message);
	exchange_reply(exchange, 200, NULL, NULL, 0, &body);
}

static struct listener *start(void)
{
	struct listener *listener;

	serve();
	listener = listen_any();
	add_route(listener, "POST", "/", tell, NULL);
	return listener;
}

/* What came of a body of an encoding. */
static const char *ask_encoded(struct listener *listener, const char *headers, const void *at, size_t bytes)
{
	const char *answer;
	char head[500];
	int fd = dial(listener);

	snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nhost: [::1]\r\n%scontent-length: %zu\r\n\r\n", headers, bytes);
	say(fd, head);
	say_bytes(fd, at, bytes);
	EQ(shutdown(fd, SHUT_WR), 0);
	answer = strstr(hear(fd, NULL), "\r\n\r\n");
	close(fd);
	OK(answer);
	return answer + 4;
}

TEST(message_without_its_encoding)
{
	static const struct { const char *headers; enum compression kind; } known[] = {
		{ "", COMPRESSION_NONE }, { "content-encoding: identity\r\n", COMPRESSION_NONE },
		{ "content-encoding:\r\n", COMPRESSION_NONE }, { "content-encoding: GZIP\r\n", COMPRESSION_GZIP },
		{ "content-encoding: zstd\r\n", COMPRESSION_ZSTD },
		{ "content-encoding: deflate\r\n", COMPRESSION_ZLIB },
		{ "content-encoding: zlib\r\n", COMPRESSION_ZLIB },
	};
	struct listener *listener = start();

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct buf packed;

		buf_init(&packed, 1000);
		EQ(compression_pack(known[i].kind, "hello", 5, &packed), 0);
		STREQ(ask_encoded(listener, known[i].headers, packed.data, packed.len), "ok:hello.");
		buf_done(&packed);
	}
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(message_in_an_encoding_that_is_only_read)
{
	static const char snappy[] = "\x05\x10hello", lz4[] = "\x04\x22\x4d\x18\x60\x40\x82\x05\0\0\x80hello\0\0\0\0";
	struct listener *listener = start();

	STREQ(ask_encoded(listener, "content-encoding: snappy\r\n", snappy, sizeof(snappy) - 1), "ok:hello.");
	STREQ(ask_encoded(listener, "content-encoding: x-snappy-framed\r\n", snappy, sizeof(snappy) - 1), "ok:hello.");
	STREQ(ask_encoded(listener, "content-encoding: lz4\r\n", lz4, sizeof(lz4) - 1), "ok:hello.");
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(message_that_cannot_be_read)
{
	struct listener *listener = start();
	struct buf packed;
	char zeros[MESSAGE_MAX + 1] = "";

	STREQ(ask_encoded(listener, "content-encoding: gzip\r\n", "hello", 5), "Bad message:.");
	STREQ(ask_encoded(listener, "content-encoding: zstd\r\n", "hello", 5), "Bad message:.");
	STREQ(ask_encoded(listener, "content-encoding: br\r\n", "hello", 5), "Operation not supported:.");
	STREQ(ask_encoded(listener, "content-encoding: gzip, gzip\r\n", "hello", 5), "Operation not supported:.");
	STREQ(ask_encoded(listener, "content-encoding: gzip\r\ncontent-encoding: gzip\r\n", "hello", 5),
	      "Operation not supported:.");
	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZLIB; kind++) {
		static const char *const headers[] = { "", "content-encoding: gzip\r\n", "content-encoding: zstd\r\n",
						       "content-encoding: zlib\r\n" };

		buf_init(&packed, 10000);
		EQ(compression_pack(kind, zeros, sizeof(zeros), &packed), 0);
		STREQ(ask_encoded(listener, headers[kind], packed.data, packed.len), "Argument list too long:.");
		buf_done(&packed);
	}
	listener_leave(listener, NULL, monotonic_ns());
	end();
}
