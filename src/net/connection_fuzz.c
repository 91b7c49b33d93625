// SPDX-License-Identifier: Apache-2.0
/*
 * Bytes into a connection as if a peer had sent them, through the real
 * protocols, routes and handlers; without sockets and threads. The first byte
 * says in pieces of which size they come, and whether the preface of HTTP/2
 * goes before them.
 */
#include "net/connection.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/listener.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"

static void echo(void *arg, struct exchange *exchange)
{
	struct http_header header = { "x-query", exchange_query(exchange) };
	struct buf message;
	int r;

	buf_init(&message, 1 << 16);
	r = exchange_message(exchange, &message);
	exchange_reply(exchange, r < 0 ? 400 : 200, exchange_header(exchange, "content-type"), &header, 1, &message);
}

static void echo_grpc(void *arg, struct exchange *exchange)
{
	struct buf message;
	int r;

	buf_init(&message, 1 << 16);
	r = exchange_message(exchange, &message);
	exchange_reply_grpc(exchange, r < 0 ? 13 : 0, exchange_header(exchange, "te"), NULL, 0,
			    r < 0 ? NULL : &message);
	buf_done(&message);
}

static struct endpoint *make_endpoint(void)
{
	static const struct route routes[] = {
		{ .path = "/echo", .body_max = 5000, .handle = echo },
		{ .method = "GET", .path = "/below/", .handle = echo },
		{ .method = "POST", .path = "/a.B/C", .grpc = true, .body_max = 5000, .handle = echo_grpc },
	};
	static struct metrics *metrics;
	struct endpoint *endpoint;
	struct server *server;

	metrics = metrics_new();
	if (!metrics || server_make(metrics, false, &server) < 0 || endpoint_new(server, "fuzz", &endpoint) < 0)
		abort();
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (routes_add(&endpoint->routes, NULL, &routes[i]) < 0)
			abort();
	endpoint->pins++;
	return endpoint;
}

static struct connection *make_connection(struct endpoint *endpoint)
{
	struct connection *connection;

	if (connection_new(endpoint, -1, &(struct caller){ .text = "fuzz" }, NULL, &connection) < 0)
		abort();
	connection->limits = (struct connection_limits){ .idle_ns = 10 * SECOND_NS, .head_ns = 10 * SECOND_NS,
							 .request_ns = 10 * SECOND_NS,
							 .body_ns = 10 * SECOND_NS, .write_ns = 10 * SECOND_NS,
							 .streams_max = 10, .ping_interval_ns = 10 * SECOND_NS,
							 .ping_timeout_ns = SECOND_NS };
	return connection;
}

/* Until the connection is at its end. */
static void feed(struct endpoint *endpoint, const char *data, size_t size, size_t step)
{
	while (size && endpoint->connections) {
		size_t bytes = size < step ? size : step;
		char *piece = malloc(bytes);

		if (!piece)
			return;
		memcpy(piece, data, bytes);
		if (!endpoint->connections->paused)
			connection_input(endpoint->connections, piece, bytes);
		free(piece);
		connection_settle(endpoint->connections);
		loop_round(endpoint->server->loop, 0);
		data += bytes;
		size -= bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct endpoint *endpoint;
	size_t step;

	if (!endpoint)
		endpoint = make_endpoint();
	if (!size)
		return 0;
	step = (size_t)1 << (data[0] & 15);
	make_connection(endpoint);
	if (data[0] & 128)
		feed(endpoint, PREFACE, sizeof(PREFACE) - 1, 100);
	feed(endpoint, (const char *)data + 1, size - 1, step);
	if (endpoint->connections)
		connection_free(endpoint->connections);
	loop_round(endpoint->server->loop, 0);
	if (endpoint->server->exchange_count || endpoint->server->body_bytes)
		abort();
	return 0;
}
