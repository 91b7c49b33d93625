/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the server: one with its listener, and a client of raw bytes. Each test is a process of its own. */
#ifndef NET_SERVER_TEST_H
#define NET_SERVER_TEST_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "net/server.h"
#include "test.h"

#define WAIT_MS 10000		/* for what must come; nothing is measured by it */

#define CONTAINS(text, part)								\
	do {										\
		const char *text_ = (text);						\
		if (!strstr(text_, part))						\
			FAIL("there is no \"%s\" in: %s", part, text_);			\
	} while (0)

static struct metrics *metrics;
static struct server *server;

static inline void serve(void)
{
	metrics = metrics_new();
	OK(metrics);
	EQ(server_new(metrics, &server), 0);
}

static inline void end(void)
{
	server_free(server);
	metrics_free(metrics);
}

static inline struct listener *listen_on(const struct listen_options *options)
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

static inline struct listener *listen_any(void)
{
	return listen_on(&(struct listen_options){ .endpoint = "127.0.0.1:0" });
}

static inline void add_route(struct listener *listener, const char *method, const char *path,
			     void (*handle)(void *arg, struct exchange *exchange), void *arg)
{
	const struct route route = { .method = method, .path = path, .body_max = 1000, .handle = handle, .arg = arg };

	EQ(listener_route(listener, &route), 0);
}

static inline int dial(const struct listener *listener)
{
	const char *address = listener_address(listener), *colon = strrchr(address, ':');
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	OK(colon);
	to.sin_port = htons((u16)strtoul(colon + 1, NULL, 10));
	EQ(connect(fd, (void *)&to, sizeof(to)), 0);
	return fd;
}

static inline void say_bytes(int fd, const void *at, size_t bytes)
{
	EQ(send(fd, at, bytes, MSG_NOSIGNAL), bytes);
}

static inline void say(int fd, const char *text)
{
	say_bytes(fd, text, strlen(text));
}

/* Reads what came, waiting for it; 0 at the end. */
static inline size_t hear_bytes(int fd, void *at, size_t bytes)
{
	struct pollfd ready = { fd, POLLIN, 0 };
	ssize_t n;

	if (poll(&ready, 1, WAIT_MS) != 1)
		FAIL("nothing came");
	n = recv(fd, at, bytes, 0);
	return n > 0 ? (size_t)n : 0;
}

/* Reads until the text has come, or to the end if it is NULL. */
static inline const char *hear(int fd, const char *until)
{
	static char text[100000];
	size_t len = 0, n = 1;

	text[0] = '\0';
	while (n && !(until && strstr(text, until))) {
		n = hear_bytes(fd, text + len, sizeof(text) - 1 - len);
		len += n;
		text[len] = '\0';
	}
	return text;
}

/* A whole connection with one request. */
static inline const char *ask(struct listener *listener, const char *request)
{
	const char *answer;
	int fd = dial(listener);

	say(fd, request);
	EQ(shutdown(fd, SHUT_WR), 0);
	answer = hear(fd, NULL);
	close(fd);
	return answer;
}

/* A counter of the server. */
static inline s64 counted(const char *name, const char *key, const char *value)
{
	const struct metric_label label = { key, value };

	return metric_value(metrics_get(metrics, METRIC_COUNTER, name, "", &label, 1));
}

#endif
