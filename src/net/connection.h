/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: its socket, perhaps TLS, and one of two protocols that are
 * fed bytes and make bytes. All of it in the loop's thread.
 *
 * Everything that happens to a connection (bytes, a reply, its timer) ends in
 * connection_settle(), which sends what there is to send and frees the
 * connection when it is at its end. In between it is only marked.
 */
#ifndef NET_CONNECTION_H
#define NET_CONNECTION_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/buf.h"
#include "net/core.h"
#include "net/caller.h"

struct endpoint;
struct exchange;
struct http1;
struct http2;

/* Numbers of a listener, as they were when the connection came; none is 0 but the ages. */
struct connection_limits {
	u64 idle_ns;			/* of HTTP/1.1; of HTTP/2 only if http2_idle */
	bool http2_idle;
	u64 head_ns, request_ns, body_ns, write_ns;	/* see HEAD_TIMEOUT_NS and those beside it */
	bool close_after_request;
	u32 streams_max;
	u64 age_ns, age_grace_ns;
	u64 ping_interval_ns, ping_timeout_ns, ping_min_ns;
	bool idle_pings;
};

struct protocol {
	/* Bytes came, which may be changed. <0: the peer is told, or not; then the connection is closed. */
	int (*input)(struct connection *connection, char *at, size_t bytes);
	/* An exchange has its reply. */
	void (*reply)(struct connection *connection, struct exchange *exchange);
	/* All of `out` was sent: there may be more to say, or to read. */
	void (*output)(struct connection *connection);
	/* The peer sends no more: what is whole is still answered, the rest is not. */
	void (*ended)(struct connection *connection);
	/* No new requests. */
	void (*drain)(struct connection *connection);
	/* When something is to be looked at next, 0: never. What is over time is refused, or the connection ended. */
	u64 (*check)(struct connection *connection, u64 now_ns);
	void (*free)(struct connection *connection);
};

extern const struct protocol http1_protocol, http2_protocol;

struct connection {
	struct server *server;
	struct endpoint *endpoint;
	struct connection *next, **link;	/* of the endpoint */
	struct connection *next_stalled, **stalled_link;
	struct loop_fd fd;
	struct loop_timer timer;
	SSL *ssl;
	bool handshaking;
	const struct protocol *protocol;	/* NULL until the first bytes have told */
	union {
		struct http1 *http1;
		struct http2 *http2;
	};
	struct connection_limits limits;
	struct caller peer;
	struct share *share;			/* of the caller */
	u32 answered;				/* requests */
	struct buf first;			/* bytes that have not told yet */
	struct buf out, tail;			/* to send: out, then tail */
	size_t out_sent, tail_sent;
	bool peer_left;			/* it sends no more, as far as was asked for */
	struct exchange *exchanges;
	u32 exchange_count;
	u64 accepted_ns, read_ns, wrote_ns;	/* when the peer did, or let us do, something */
	u64 idle_since_ns, drained_ns, linger_until_ns;
	bool paused;				/* not reading: a request is being answered */
	bool ended;				/* the peer sends no more */
	bool draining, closing, lingering, broken;	/* closing: when all is sent; broken: at once */
	u32 want;				/* what TLS waits for, beyond the plain */
};

int connection_new(struct endpoint *endpoint, int fd, const struct caller *peer, SSL *ssl,
		   struct connection **ret_connection);
void connection_free(struct connection *connection);

/* Bytes, as if they had been read; for the fuzzers too. */
void connection_input(struct connection *connection, char *at, size_t bytes);
void connection_reply(struct exchange *exchange);
void connection_drain(struct connection *connection);
void connection_settle(struct connection *connection);

bool connection_has_output(const struct connection *connection);

/* Sends what there is, then closes; broken: closes at once. */
void connection_close(struct connection *connection, enum server_count count);
void connection_break(struct connection *connection, enum server_count count);

/* Answers every exchange of a route with 503. */
struct route_entry;
void connection_abort(struct connection *connection, const struct route_entry *entry);

/* HTTP/2: the peer is not asked for more until bodies take less; then http2_ask(). */
void connection_stall(struct connection *connection);
void connection_unstall(struct connection *connection);
void http2_ask(struct connection *connection);

int http1_start(struct connection *connection);
int http2_start(struct connection *connection);

#endif
