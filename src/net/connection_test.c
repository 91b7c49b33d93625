// SPDX-License-Identifier: Apache-2.0
/* Connections without threads: a test makes each round of the loop itself, and sets what has a time to nothing. */
#include "net/connection.h"

#include <errno.h>
#include <sys/socket.h>

#include "net/listener.h"
#include "test.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"
#define NO_WINDOW "\0\0\6\4\0\0\0\0\0" "\0\4\0\0\0\0"
#define PING "\0\0\10\6\0\0\0\0\0" "\0\1\2\3\4\5\6\7"
#define GET_BIG "\0\0\xb\1\5\0\0\0\1" "\x82\x86\x04\x04/big\x41\x01x"

static struct metrics *metrics;
static struct endpoint *endpoint;

static void echo(void *arg, struct exchange *exchange)
{
	struct buf message;

	buf_init(&message, 1000);
	(void)exchange_message(exchange, &message);
	exchange_reply(exchange, 200, NULL, NULL, 0, &message);
}

static void big(void *arg, struct exchange *exchange)
{
	struct buf body;

	buf_init(&body, 4 << 20);
	if (buf_reserve(&body, 4 << 20) == 0) {
		body.len = 4 << 20;
		memset(body.data, 'x', body.len);
	}
	exchange_reply(exchange, 200, NULL, NULL, 0, &body);
}

static int begin(void)
{
	static const struct route routes[] = {
		{ .method = "POST", .path = "/echo", .body_max = 1000, .handle = echo },
		{ .method = "GET", .path = "/big", .handle = big },
	};
	struct server *server;
	int r;

	metrics = metrics_new();
	r = metrics ? server_make(metrics, false, &server) : -ENOMEM;
	if (r < 0) {
		metrics_free(metrics);
		return r;
	}
	r = endpoint_new(server, "test", &endpoint);
	for (size_t i = 0; r == 0 && i < 2; i++)
		r = routes_add(&endpoint->routes, NULL, &routes[i]);
	if (r < 0) {
		server_free(server);
		metrics_free(metrics);
		return r;
	}
	endpoint->pins++;
	return 0;
}

static void end(void)
{
	EQ(endpoint->connections ? 1 : 0, 0);
	EQ(endpoint->server->exchange_count, 0);
	EQ(endpoint->server->body_bytes, 0);
	EQ(endpoint->server->early_count, 0);
	server_free(endpoint->server);
	metrics_free(metrics);
}

/* A new connection is the first of the endpoint; its other end is returned. */
static int join(void)
{
	struct connection *connection;
	int fds[2];

	EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	if (connection_new(endpoint, fds[0], &(struct caller){ .text = "test" }, NULL, &connection) < 0) {
		close(fds[0]);
		return fds[1];
	}
	connection->limits = (struct connection_limits){ .idle_ns = 1000 * SECOND_NS, .head_ns = 1000 * SECOND_NS,
							 .request_ns = 1000 * SECOND_NS,
							 .body_ns = 1000 * SECOND_NS, .write_ns = 1000 * SECOND_NS,
							 .streams_max = 10, .ping_interval_ns = 1000 * SECOND_NS,
							 .ping_timeout_ns = 1000 * SECOND_NS };
	connection_settle(connection);
	return fds[1];
}

/* All that can happen now, happens. */
static void settle(void)
{
	for (int i = 0; i < 20; i++)
		loop_round(endpoint->server->loop, 0);
}

static void say(int fd, const char *text, size_t bytes)
{
	EQ(send(fd, text, bytes, MSG_NOSIGNAL), bytes);
	settle();
}
#define SAY(fd, text) say(fd, text, sizeof(text) - 1)

/* What came, at most the first of it; "" if nothing. */
static const char *heard(int fd)
{
	static char text[10000];
	ssize_t n;

	settle();
	n = recv(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Whether an HTTP/2 frame of this type came, with this code at the end; -1: any. */
static bool heard_frame(int fd, u8 type, int code)
{
	u8 bytes[10000];
	ssize_t n, at = 0;

	settle();
	n = recv(fd, bytes, sizeof(bytes), 0);
	while (at + 9 <= n) {
		ssize_t next = at + 9 + (bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2]);

		if (bytes[at + 3] == type && next <= n && (code < 0 || bytes[next - 1] == code))
			return true;
		at = next;
	}
	return false;
}

static void hang_up(int fd)
{
	close(fd);
	settle();
}

static s64 counted(const char *name, const char *reason)
{
	const struct metric_label label = { "reason", reason };

	return metric_value(metrics_get(metrics, METRIC_COUNTER, name, "", &label, 1));
}

#define POST(bytes) "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: " #bytes "\r\n\r\n"
#define TEN "0123456789"

/* ---- Room for bodies ---------------------------------------------------------------------------- */

TEST(connection_waits_while_bodies_take_too_much)
{
	int first, second;

	EQ(begin(), 0);
	endpoint->server->bodies_soft_max = 15;
	first = join();
	SAY(first, POST(30) TEN TEN);
	second = join();
	SAY(second, POST(20) TEN);
	SAY(second, TEN);
	STREQ(heard(second), "");
	OK(endpoint->server->stalled);
	EQ(endpoint->server->body_bytes, 30);
	SAY(first, TEN);
	OK(strstr(heard(first), "200 OK"));
	OK(strstr(heard(second), "200 OK"));
	hang_up(first);
	hang_up(second);
	end();
}

TEST(connection_goes_on_if_all_of_them_wait)
{
	int first, second;

	EQ(begin(), 0);
	endpoint->server->bodies_soft_max = 5;
	first = join();
	SAY(first, POST(20) TEN);
	second = join();
	SAY(second, POST(20) TEN);
	SAY(second, TEN);
	STREQ(heard(second), "");
	hang_up(first);
	OK(strstr(heard(second), "200 OK"));
	hang_up(second);
	end();
}

TEST(connection_refuses_what_there_is_no_room_for)
{
	int fd;

	EQ(begin(), 0);
	endpoint->server->bodies_hard_max = 30;		/* of which one caller may have half */
	fd = join();
	SAY(fd, POST(20) TEN TEN);
	OK(strstr(heard(fd), "HTTP/1.1 503 "));
	EQ(endpoint->server->body_bytes, 0);
	SAY(fd, POST(10) TEN);
	OK(strstr(heard(fd), "200 OK"));
	EQ(counted("wick_server_refused_total", "share"), 1);
	endpoint->server->body_bytes += 25;		/* of others */
	SAY(fd, POST(10) TEN);
	OK(strstr(heard(fd), "HTTP/1.1 503 "));
	EQ(counted("wick_server_refused_total", "out_of_memory"), 1);
	endpoint->server->body_bytes -= 25;
	hang_up(fd);
	end();
}

/* ---- Time ------------------------------------------------------------------------------------------- */

TEST(connection_ends_a_body_that_stays_away)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	SAY(fd, POST(20) TEN);
	endpoint->connections->limits.body_ns = 1;
	connection_settle(endpoint->connections);
	OK(strstr(heard(fd), "HTTP/1.1 408 "));
	hang_up(fd);
	EQ(counted("wick_server_refused_total", "too_slow"), 1);
	end();
}

TEST(connection_ends_when_its_peer_does_not_read)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	SAY(fd, "GET /big HTTP/1.1\r\nhost: x\r\n\r\n");
	endpoint->connections->limits.write_ns = 1;
	connection_settle(endpoint->connections);
	EQ(counted("wick_server_closed_total", "write_stalled"), 1);
	close(fd);
	end();
}

TEST(connection_ends_a_stream_whose_window_stays_shut)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	SAY(fd, PREFACE NO_WINDOW GET_BIG);
	OK(heard_frame(fd, 1, -1));
	EQ(endpoint->server->exchange_count, 1);
	endpoint->connections->limits.write_ns = 1;
	connection_settle(endpoint->connections);
	OK(heard_frame(fd, 3, 8));
	EQ(endpoint->server->exchange_count, 0);
	hang_up(fd);
	end();
}

TEST(connection_ends_when_it_is_idle)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	SAY(fd, POST(10) TEN);
	OK(strstr(heard(fd), "200 OK"));
	endpoint->connections->limits.idle_ns = 1;
	connection_settle(endpoint->connections);
	hang_up(fd);
	EQ(counted("wick_server_closed_total", "idle"), 1);
	fd = join();
	SAY(fd, PREFACE SETTINGS);
	(void)heard(fd);
	endpoint->connections->limits.idle_ns = 1;
	endpoint->connections->limits.http2_idle = true;
	connection_settle(endpoint->connections);
	OK(heard_frame(fd, 7, 0));
	hang_up(fd);
	EQ(counted("wick_server_closed_total", "idle"), 2);
	end();
}

TEST(connection_ends_when_it_is_old)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	SAY(fd, POST(20) TEN);
	endpoint->connections->limits.age_ns = 1;
	endpoint->connections->limits.age_grace_ns = 1000 * SECOND_NS;
	connection_settle(endpoint->connections);
	SAY(fd, TEN);
	OK(strstr(heard(fd), "connection: close"));
	hang_up(fd);
	fd = join();
	SAY(fd, PREFACE SETTINGS);
	endpoint->connections->limits.age_ns = 1;
	endpoint->connections->limits.age_grace_ns = 1;
	connection_settle(endpoint->connections);
	EQ(counted("wick_server_closed_total", "age"), 2);
	close(fd);
	end();
}

TEST(connection_pings_and_gives_up)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	SAY(fd, PREFACE SETTINGS);
	(void)heard(fd);
	endpoint->connections->limits.ping_interval_ns = 1;
	connection_settle(endpoint->connections);
	OK(heard_frame(fd, 6, 0));
	endpoint->connections->limits.ping_timeout_ns = 1;
	connection_settle(endpoint->connections);
	EQ(counted("wick_server_closed_total", "ping_unanswered"), 1);
	close(fd);
	end();
}

TEST(connection_forgives_two_pings_that_come_too_soon)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	endpoint->connections->limits.ping_min_ns = 1000 * SECOND_NS;
	SAY(fd, PREFACE SETTINGS PING PING PING);
	OK(endpoint->connections);
	OK(heard_frame(fd, 6, 7));
	SAY(fd, PING);
	OK(heard_frame(fd, 7, 's'));
	EQ(counted("wick_server_closed_total", "too_many_pings"), 1);
	hang_up(fd);
	end();
}

TEST(connection_for_one_request)
{
	int fd;

	EQ(begin(), 0);
	fd = join();
	endpoint->connections->limits.close_after_request = true;
	SAY(fd, POST(10) TEN);
	OK(strstr(heard(fd), "connection: close"));
	hang_up(fd);
	end();
}

/* ---- Memory ------------------------------------------------------------------------------------------- */

static void talk(void)
{
	int fd;

	if (begin() < 0)
		return;
	fd = join();
	(void)send(fd, POST(10) TEN, sizeof(POST(10) TEN) - 1, MSG_NOSIGNAL);
	(void)heard(fd);
	hang_up(fd);
	fd = join();
	(void)send(fd, PREFACE SETTINGS GET_BIG, sizeof(PREFACE SETTINGS GET_BIG) - 1, MSG_NOSIGNAL);
	(void)heard(fd);
	hang_up(fd);
	end();
}

TEST(connection_survives_without_memory)
{
	long count;

	test_alloc_fail(1000000);
	talk();
	count = test_alloc_reset();
	OK(count > 20);
	for (long i = 0; i < count; i++) {
		test_alloc_fail(i);
		talk();
		test_alloc_reset();
	}
}
