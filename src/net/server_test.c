// SPDX-License-Identifier: Apache-2.0
#include "net/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "test.h"

#define WAIT_MS 10000		/* for what must come; nothing is measured by it */

/* ---- A server with a few routes ---------------------------------------------------------- */

static struct metrics *metrics;
static struct server *server;

static void serve(void)
{
	metrics = metrics_new();
	OK(metrics);
	EQ(server_new(metrics, &server), 0);
}

static void end(void)
{
	server_free(server);
	metrics_free(metrics);
}

static struct listener *listen_on(const struct listen_options *options)
{
	struct listener *listener;
	struct buf why;
	int r;

	buf_init(&why, 1000);
	r = server_listen(server, options, &listener, &why);
	if (r < 0)
		FAIL("%s", why.data);
	buf_done(&why);
	return listener;
}

static void add_route(struct listener *listener, const char *method, const char *path,
		      void (*handle)(void *arg, struct exchange *exchange), void *arg)
{
	const struct route route = { .method = method, .path = path, .body_max = 1000, .handle = handle, .arg = arg };

	EQ(listener_route(listener, &route), 0);
}

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

	pthread_mutex_lock(&kept->lock);
	kept->exchange = exchange;
	pthread_cond_signal(&kept->came);
	pthread_mutex_unlock(&kept->lock);
}

static struct exchange *wait_kept(struct kept *kept)
{
	pthread_mutex_lock(&kept->lock);
	while (!kept->exchange)
		pthread_cond_wait(&kept->came, &kept->lock);
	pthread_mutex_unlock(&kept->lock);
	return kept->exchange;
}

/* ---- A client of raw bytes ----------------------------------------------------------------- */

static int dial(const struct listener *listener)
{
	const char *address = listener_address(listener), *colon = strrchr(address, ':');
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	OK(colon);
	to.sin_port = htons((u16)strtoul(colon + 1, NULL, 10));
	EQ(connect(fd, (void *)&to, sizeof(to)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	EQ(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads until the text has come `times`, or the end. */
static const char *hear(int fd, const char *until, int times)
{
	static char text[100000];
	size_t len = 0;

	text[0] = '\0';
	for (;;) {
		struct pollfd ready = { fd, POLLIN, 0 };
		const char *at = text;
		ssize_t n;
		int found = 0;

		while (until && (at = strstr(at, until))) {
			at += strlen(until);
			found++;
		}
		if (until && found >= times)
			return text;
		if (poll(&ready, 1, WAIT_MS) != 1)
			FAIL("nothing came after: %s", text);
		n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
		if (n <= 0)
			return text;
		len += (size_t)n;
		text[len] = '\0';
	}
}

static const char *ask(struct listener *listener, const char *request)
{
	const char *answer;
	int fd = dial(listener);

	say(fd, request);
	EQ(shutdown(fd, SHUT_WR), 0);
	answer = hear(fd, NULL, 0);
	close(fd);
	return answer;
}

#define CONTAINS(text, part)								\
	do {										\
		const char *text_ = (text);						\
		if (!strstr(text_, part))						\
			FAIL("there is no \"%s\" in: %s", part, text_);			\
	} while (0)

/* ---- HTTP/1.1 -------------------------------------------------------------------------------- */

TEST(server_answers_http1)
{
	struct listener *listener;

	serve();
	listener = listen_on(&(struct listen_options){ .endpoint = "127.0.0.1:0" });
	add_route(listener, "POST", "/tell", tell, NULL);
	add_route(listener, NULL, "/below/", tell, NULL);
	CONTAINS(ask(listener, "POST /tell?a=b HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc"),
		 "\r\n\r\nPOST /tell a=b abc");
	CONTAINS(ask(listener, "POST /tell HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
		      "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
		 "POST /tell  abc");
	CONTAINS(ask(listener, "PUT /below/x HTTP/1.1\r\nhost: x\r\n\r\n"), "PUT /below/x  ");
	CONTAINS(ask(listener, "GET /tell HTTP/1.1\r\nhost: x\r\n\r\n"), "HTTP/1.1 405 ");
	CONTAINS(ask(listener, "GET /tell HTTP/1.1\r\nhost: x\r\n\r\n"), "allow: POST\r\n");
	CONTAINS(ask(listener, "GET / HTTP/1.1\r\nhost: x\r\n\r\n"), "HTTP/1.1 404 ");
	CONTAINS(ask(listener, "GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 ");
	CONTAINS(ask(listener, "POST /tell HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n"), "HTTP/1.1 413 ");
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(server_answers_requests_of_one_connection_in_order)
{
	struct listener *listener;
	const char *answer;
	int fd;

	serve();
	listener = listen_on(&(struct listen_options){ .endpoint = "127.0.0.1:0" });
	add_route(listener, "POST", "/tell", tell, NULL);
	fd = dial(listener);
	say(fd, "POST /tell?1 HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\naPOST /tell?2 HTTP/1.1\r\nhost: x\r\n\r\n"
		"GET /none HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nxxPOST /tell?3 HTTP/1.1\r\nhost: x\r\n\r\n");
	answer = hear(fd, "/tell 3", 1);
	OK(strstr(answer, "/tell 1 a") < strstr(answer, "/tell 2"));
	OK(strstr(answer, "/tell 2") < strstr(answer, "404 Not Found"));
	close(fd);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

/* ---- Leaving --------------------------------------------------------------------------------- */

TEST(server_answers_in_the_place_of_who_left)
{
	struct kept kept = KEPT_NONE;
	struct listener *listener;
	int fd;

	serve();
	listener = listen_on(&(struct listen_options){ .endpoint = "127.0.0.1:0" });
	add_route(listener, "GET", "/keep", keep, &kept);
	fd = dial(listener);
	say(fd, "GET /keep HTTP/1.1\r\nhost: x\r\n\r\n");
	wait_kept(&kept);
	listener_leave(listener, &kept, monotonic_ns());
	CONTAINS(hear(fd, NULL, 0), "HTTP/1.1 503 ");
	exchange_reply(kept.exchange, 200, NULL, NULL, 0, NULL);
	close(fd);
	end();
}

TEST(server_keeps_connections_while_it_is_held)
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
	say(fd, "GET / HTTP/1.1\r\nhost: x\r\n\r\n");
	CONTAINS(hear(fd, "first", 1), "200 OK");

	early = dial(listener);
	server_hold(server, true);
	listener_leave(listener, first, monotonic_ns() + 10000000000ull);
	say(fd, "GET / HTTP/1.1\r\nhost: x\r\n\r\n");
	CONTAINS(hear(fd, "later", 1), "HTTP/1.1 503 ");
	listener = listen_on(&options);
	add_route(listener, "GET", "/", tell_arg, second);
	server_hold(server, false);
	say(fd, "GET / HTTP/1.1\r\nhost: x\r\n\r\n");
	CONTAINS(hear(fd, "second", 1), "200 OK");
	say(early, "GET / HTTP/1.1\r\nhost: x\r\n\r\n");
	CONTAINS(hear(early, "second", 1), "200 OK");

	server_hold(server, true);
	listener_leave(listener, second, monotonic_ns());
	server_hold(server, false);
	STREQ(hear(fd, NULL, 0), "");
	close(fd);
	close(early);
	end();
}
