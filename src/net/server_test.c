// SPDX-License-Identifier: Apache-2.0
#include "net/server_test.h"

#include <pthread.h>
#include <sched.h>

#include "base/lock.h"
#include "base/sender_time.h"

/* Replies with "METHOD path query message". */
static void tell(void *arg, struct exchange *exchange)
{
	struct buf message, body;

	buf_init(&message, 1000);
	buf_init(&body, 2000);
	EQ(exchange_message(exchange, &message), 0);
	buf_addf(&body, "%s %s %s %.*s", exchange_method(exchange), exchange_path(exchange), exchange_query(exchange),
		 (int)message.len, message.data ? message.data : "");
	buf_done(&message);
	exchange_reply(exchange, 200, "text/plain", NULL, 0, &body);
}

static void tell_arg(void *arg, struct exchange *exchange)
{
	struct buf body;

	buf_init(&body, 100);
	buf_addf(&body, "%s", (const char *)arg);
	exchange_reply(exchange, 200, NULL, NULL, 0, &body);
}

/* Keeps the exchange for the test. */
struct kept {
	pthread_mutex_t lock;
	pthread_cond_t came;
	struct exchange *exchange;
};
#define KEPT_NONE { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL }

static void keep(void *arg, struct exchange *exchange)
{
	struct kept *kept = arg;

	LOCKED(&kept->lock);
	kept->exchange = exchange;
	pthread_cond_signal(&kept->came);
}

static struct exchange *wait_kept(struct kept *kept)
{
	LOCKED(&kept->lock);
	while (!kept->exchange)
		pthread_cond_wait(&kept->came, &kept->lock);
	return kept->exchange;
}

/* ---- HTTP/1.1 -------------------------------------------------------------------------------- */

TEST(server_answers_http1)
{
	struct listener *listener;

	serve();
	listener = listen_any();
	add_route(listener, "POST", "/tell", tell, NULL);
	add_route(listener, NULL, "/below/", tell, NULL);
	CONTAINS(ask(listener, "POST /tell?a=b HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nabc"),
		 "\r\n\r\nPOST /tell a=b abc");
	CONTAINS(ask(listener, "POST /tell HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
		      "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
		 "POST /tell  abc");
	CONTAINS(ask(listener, "PUT /below/x HTTP/1.1\r\nhost: localhost\r\n\r\n"), "PUT /below/x  ");
	CONTAINS(ask(listener, "GET /tell HTTP/1.1\r\nhost: localhost\r\n\r\n"), "HTTP/1.1 405 ");
	CONTAINS(ask(listener, "GET /tell HTTP/1.1\r\nhost: localhost\r\n\r\n"), "allow: POST\r\n");
	CONTAINS(ask(listener, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"), "HTTP/1.1 404 ");
	CONTAINS(ask(listener, "GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 ");
	CONTAINS(ask(listener, "POST /tell HTTP/1.1\r\nhost: [::1]\r\ncontent-length: 1001\r\n\r\n"), "HTTP/1.1 413 ");
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(server_answers_requests_of_one_connection_in_order)
{
	struct listener *listener;
	const char *answer;
	int fd;

	serve();
	listener = listen_any();
	add_route(listener, "POST", "/tell", tell, NULL);
	fd = dial(listener);
	say(fd, "POST /tell?1 HTTP/1.1\r\nhost: [::1]\r\ncontent-length: 1\r\n\r\na"
		"POST /tell?2 HTTP/1.1\r\nhost: [::1]\r\n\r\n"
		"GET /none HTTP/1.1\r\nhost: [::1]\r\ncontent-length: 2\r\n\r\nxx"
		"POST /tell?3 HTTP/1.1\r\nhost: [::1]\r\n\r\n");
	answer = hear(fd, "/tell 3");
	OK(strstr(answer, "/tell 1 a") < strstr(answer, "/tell 2"));
	OK(strstr(answer, "/tell 2") < strstr(answer, "404 Not Found"));
	close(fd);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(server_answers_many_requests_that_come_at_once)
{
	static const char request[] = "GET /none HTTP/1.1\r\nhost: localhost\r\n\r\n";
	static const char last[] = "POST /tell?end HTTP/1.1\r\nhost: localhost\r\n\r\n";
	struct listener *listener;
	struct buf text;
	int fd;

	serve();
	listener = listen_any();
	add_route(listener, "POST", "/tell", tell, NULL);
	buf_init(&text, 1 << 20);
	for (int i = 0; i < 400; i++)
		buf_add(&text, request, sizeof(request) - 1);
	buf_add(&text, last, sizeof(last) - 1);
	fd = dial(listener);
	say_bytes(fd, text.data, text.len);
	CONTAINS(hear(fd, "/tell end"), "200 OK");
	EQ(counted("wick_server_refused_total", "reason", "path"), 400);
	close(fd);
	buf_done(&text);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

/* ---- Leaving --------------------------------------------------------------------------------- */

TEST(server_tells_who_works_that_the_client_has_gone)
{
	struct kept kept = KEPT_NONE;
	struct exchange *exchange;
	struct listener *listener;
	int fd, whole;

	serve();
	listener = listen_any();
	add_route(listener, "GET", "/keep", keep, &kept);
	for (whole = 0; whole < 2; whole++) {		/* one that only sends no more, one that has gone */
		kept.exchange = NULL;
		fd = dial(listener);
		say(fd, "GET /keep HTTP/1.1\r\nhost: localhost\r\n\r\n");
		exchange = wait_kept(&kept);
		OK(!exchange_peer_left(exchange));
		if (whole)
			close(fd);
		else
			EQ(shutdown(fd, SHUT_WR), 0);
		while (!exchange_peer_left(exchange))
			sched_yield();
		exchange_reply(exchange, 200, NULL, NULL, 0, NULL);
		if (!whole)
			CONTAINS(hear(fd, NULL), "HTTP/1.1 200 ");
		if (!whole)
			close(fd);
	}
	listener_leave(listener, &kept, monotonic_ns());
	end();
}

TEST(server_answers_in_the_place_of_who_left)
{
	struct kept kept = KEPT_NONE;
	struct listener *listener;
	int fd;

	serve();
	listener = listen_any();
	add_route(listener, "GET", "/keep", keep, &kept);
	fd = dial(listener);
	say(fd, "GET /keep HTTP/1.1\r\nhost: localhost\r\n\r\n");
	wait_kept(&kept);
	listener_leave(listener, &kept, monotonic_ns());
	CONTAINS(hear(fd, NULL), "HTTP/1.1 503 ");
	exchange_reply(kept.exchange, 200, NULL, NULL, 0, NULL);
	close(fd);
	end();
}

TEST(server_tells_senders_to_try_again_when_their_receiver_left)
{
	static char stays[] = "stays", goes[] = "goes";
	struct listener *listener;

	serve();
	listener = listen_any();
	add_route(listener, "GET", "/stays", tell_arg, stays);
	add_route(listener, "GET", "/goes", tell_arg, goes);
	CONTAINS(ask(listener, "GET /goes HTTP/1.1\r\nhost: localhost\r\n\r\n"), "200 OK");
	listener_leave(listener, goes, monotonic_ns());
	CONTAINS(ask(listener, "GET /goes HTTP/1.1\r\nhost: localhost\r\n\r\n"), "HTTP/1.1 503 ");
	CONTAINS(ask(listener, "GET /stays HTTP/1.1\r\nhost: localhost\r\n\r\n"), "200 OK");
	add_route(listener, "GET", "/new", tell_arg, goes);
	CONTAINS(ask(listener, "GET /goes HTTP/1.1\r\nhost: localhost\r\n\r\n"), "HTTP/1.1 404 ");
	listener_leave(listener, goes, monotonic_ns());
	listener_leave(listener, stays, monotonic_ns());
	end();
}

TEST(server_keeps_connections_and_requests_while_it_is_held)
{
	static char first[] = "first", second[] = "second";
	struct listen_options options = { .endpoint = "127.0.0.1:0" };
	struct listener *listener;
	char address[64];
	int fd, early;

	serve();
	listener = listen_on(&options);
	snprintf(address, sizeof(address), "%s", listener_address(listener));
	listener_leave(listener, NULL, 0);
	options.endpoint = address;
	listener = listen_on(&options);
	add_route(listener, "GET", "/", tell_arg, first);
	EQ(listener_route(listener, &(struct route){ .method = "GET", .path = "/", .handle = tell_arg }), -EEXIST);
	fd = dial(listener);
	say(fd, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
	CONTAINS(hear(fd, "first"), "200 OK");

	early = dial(listener);
	server_hold(server, true);
	listener_leave(listener, first, monotonic_ns() + 10000000000ull);
	say(fd, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
	listener = listen_on(&options);
	add_route(listener, "GET", "/", tell_arg, second);
	server_hold(server, false);
	CONTAINS(hear(fd, "second"), "200 OK");
	say(early, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
	CONTAINS(hear(early, "second"), "200 OK");

	server_hold(server, true);
	listener_leave(listener, second, monotonic_ns());
	server_hold(server, false);
	STREQ(hear(fd, NULL), "");
	close(fd);
	close(early);
	end();
}

/* ---- Who is to come later ---------------------------------------------------------------------- */

static const struct sender_time_limit tiny = { 1e-9, SECOND_NS };

/* Answers come one after the other, a second later at the soonest, whatever the body was. */
TEST(server_tells_who_has_sent_too_much_to_come_later)
{
	static const char post[] = "POST /sent HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nabc";
	static const char large[] = "POST /sent HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000000\r\n\r\nabc";
	const struct route route = { .method = "POST", .path = "/sent", .yields = true, .body_max = 10000000,
				     .handle = tell };
	struct listener *listener;
	int first, second, gone, held;
	u64 began_ns;

	sender_time_set(&tiny, &tiny, 1);
	serve();
	listener = listen_any();
	EQ(listener_route(listener, &route), 0);
	add_route(listener, "GET", "/asked", tell, NULL);
	CONTAINS(ask(listener, post), "HTTP/1.1 200 ");
	began_ns = monotonic_ns();
	say(first = dial(listener), post);
	say(second = dial(listener), large);
	say(gone = dial(listener), post);
	close(gone);
	CONTAINS(ask(listener, "GET /asked HTTP/1.1\r\nhost: localhost\r\n\r\n"), "HTTP/1.1 200 ");
	CONTAINS(hear(first, "raise --max-cpu"), "HTTP/1.1 503 ");
	OK(monotonic_ns() - began_ns >= SECOND_NS);
	CONTAINS(hear(second, "raise --max-cpu"), "retry-after: 10\r\n");
	OK(counted("wick_server_refused_total", "reason", "cpu_budget") >= 2);
	say(first, post);	/* its connection is as good as before; it is held when the server ends */
	say(held = dial(listener), post);
	close(first);
	close(second);
	listener_leave(listener, NULL, monotonic_ns());
	end();
	close(held);
	sender_time_reset();
}
