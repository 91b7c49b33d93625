/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves HTTP/1.1, HTTP/2 and gRPC: one thread with an epoll loop for all
 * sockets, a few work threads for what takes longer than a millisecond.
 *
 *  - A listener is shared by all who name the same endpoint with equal TLS
 *    settings. The first bytes of a connection decide: TLS, then ALPN; the
 *    HTTP/2 preface; else HTTP/1.1. Then the path, then the method.
 *  - A request reaches its route's handler, in a work thread, when its body is whole. The
 *    handler, or anyone it gives the exchange to, replies exactly once, then or later.
 *  - Where senders are over their share of CPU time the loud ones get 503 (gRPC: UNAVAILABLE), before their bodies are
 *    kept, and late: who waits for an answer does not send meanwhile.
 *  - Everything a peer can make grow is bounded: connections, streams, headers, bodies (also the sum of
 *    all), time to send a request, resets. What is over a bound gets 413, 431, 503, GOAWAY, or is
 *    closed, and is counted.
 *
 * Server functions are called by one thread, the owner's; exchange functions by whoever holds the exchange.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/types.h"
#include "config/fields.h"

struct exchange;
struct listener;
struct metrics;
struct passed;
struct server;

struct tls_server_options {
	const char *cert_file, *key_file, *cert_pem, *key_pem;	/* "" where not given */
	const char *client_ca_file;		/* then clients must show a certificate of it */
	const char *min_version, *max_version;	/* "1.2", "1.3"; "" the default */
	struct config_texts cipher_suites;	/* by the names of IANA and Go */
	struct config_texts curve_preferences;	/* X25519, P256, P384, P521 */
	s64 reload_interval_ns;			/* 0: files are read once */
	bool client_ca_file_reload;
};
extern const struct config_field tls_server_fields[];

/* Of several that share an endpoint, the numbers of the first hold. */
struct listen_options {
	const char *endpoint;			/* "localhost:4317" (127.0.0.1 and ::1), "[::]:80", a path */
	bool unix_socket;
	struct config_texts hosts;		/* further names it may be asked by over loopback; "*": all */
	const struct tls_server_options *tls;	/* NULL: none */
	s64 idle_timeout_ns;			/* of a connection without requests; 0: the default */
	s64 request_timeout_ns;			/* to send a whole request; 0: the default */
	s64 head_timeout_ns;			/* to send its headers; 0: the default */
	s64 write_timeout_ns;			/* without the peer taking a byte of an answer; 0: the default */
	bool close_after_request;		/* HTTP/1.1: a connection is for one request */
	u32 streams_max;			/* of a connection at once; 0: the default */
	s64 connection_age_max_ns, connection_age_grace_ns;	/* 0: no limit */
	s64 ping_interval_ns, ping_timeout_ns;	/* HTTP/2 keepalive; 0: the default of 2 h and 20 s */
	/* Clients that ping more often get GOAWAY, as from grpc-go; 0: they may. Without streams 2 h or idle_pings. */
	s64 ping_min_interval_ns;
	bool idle_pings;
};

struct route {
	const char *method;		/* "POST"; NULL: any */
	const char *path;		/* exact, or all below it if it ends in "/" and is longer than that */
	bool grpc;			/* only content types of application/grpc */
	bool is_question;		/* waits for its turn among those, not behind what is sent (net/work.h) */
	bool yields;			/* callers may be told to come later, to save CPU time (base/sender_time.h) */
	size_t body_max;		/* as it comes over the wire; 0: no body */
	void (*handle)(void *arg, struct exchange *exchange);
	void *arg;
};

int server_new(struct metrics *metrics, struct server **ret_server);
/* When all have left, and every exchange was replied to. */
void server_free(struct server *server);
DEFINE_CLEANUP(struct server *, server_free)

/* What the server has to say, from the loop's thread. Each may be NULL. */
struct server_hooks {
	/* For the log: certificates that could not be read again. */
	void (*notice)(void *arg, const char *sentence);
	/* A request that no handler sees: nothing is served there, it is too large or too late. */
	void (*refusal)(void *arg, struct exchange *exchange, const char *sentence);
	/* That it goes round: each pulse_ns, if it does. */
	void (*pulse)(void *pulse_arg);
	u64 pulse_ns;			/* 0: not wanted */
	void *arg, *pulse_arg;
};
int server_set_hooks(struct server *server, const struct server_hooks *hooks);

/* Sockets to be taken for endpoints, which stay the caller's until the server is freed. Before anybody listens. */
void server_set_passed(struct server *server, struct passed *passed);

/*
 * Binds, or joins the listener that has this endpoint already. `why` gets a
 * sentence, with the pid that has the port if it can be told.
 */
int server_listen(struct server *server, const struct listen_options *options, struct listener **ret_listener,
		  struct buf *why);

/* The listener serves once it has a route. path, method and arg are borrowed. -EEXIST: somebody has that route. */
int listener_route(struct listener *listener, const struct route *route);

/*
 * Forgets the routes with this arg; returns when none of their handlers runs
 * and no exchange of theirs is open, or at the
 * deadline (CLOCK_MONOTONIC), when those that are open are answered with 503; a handler that runs is waited for in any
 * case, since it uses arg, but whoever holds an exchange may reply to it later, for nobody. A listener is gone when it
 * has no routes left. The last one of an endpoint closes it: connections get GOAWAY. Requests that no route takes get
 * 503 from then on, not 404, until the next route is added: senders shall try again.
 */
void listener_leave(struct listener *listener, const void *arg, u64 deadline_ns);

/*
 * For a start or a reload: while it holds, a listener that the last one left stays open, with its connections. Who
 * connects, or has a connection and begins a request, waits; where a connection is in the midst of another request,
 * one that no route takes is answered with 503 (gRPC: UNAVAILABLE), for the sender to try again, instead of 404. When
 * it no longer holds, listeners that nobody has joined again are closed.
 */
void server_hold(struct server *server, bool hold);

/* "127.0.0.1:4317": where it really listens (port 0). */
const char *listener_address(const struct listener *listener);

/* Runs work in a work thread. -EAGAIN when too much waits. */
int server_work(struct server *server, void (*work)(void *arg), void *arg);

/* ---- Exchanges ---------------------------------------------------------------- */

const char *exchange_method(const struct exchange *exchange);
const char *exchange_path(const struct exchange *exchange);		/* without the query */
const char *exchange_query(const struct exchange *exchange);		/* "" if none */
const char *exchange_peer(const struct exchange *exchange);		/* "127.0.0.1:40312" */

/* The user whose socket is at the other end, if it is one of this machine and could be found out. */
bool exchange_peer_user(const struct exchange *exchange, uid_t *ret_uid);

/* Whom shares are by (net/caller.h); not 0. */
u64 exchange_peer_key(const struct exchange *exchange);

/* By a name in lower case: NULL if there is none; how often it came. */
const char *exchange_header(const struct exchange *exchange, const char *name);
u32 exchange_header_count(const struct exchange *exchange, const char *name);

/* The body as it came over the wire, of gRPC without the five bytes before the message; it may be taken. */
struct buf *exchange_body(struct exchange *exchange);

/*
 * The message: of HTTP the body without its Content-Encoding, of gRPC the one message of the
 * call. -EBADMSG: broken; -E2BIG: past the limit of out; -EOPNOTSUPP: an encoding that is not known. What is not
 * packed is moved, not copied, if out is empty; the body is gone afterwards.
 */
int exchange_message(struct exchange *exchange, struct buf *out);

/*
 * Whether the peer has gone, or at least sends no more: who works long for a reply may as well end. Asked from time to
 * time by who holds the exchange.
 */
bool exchange_peer_left(const struct exchange *exchange);

struct http_header {
	const char *name, *value;	/* names in lower case */
};

/* Ends the exchange, from any thread. content_type may be NULL; headers are copied, the body is taken over. */
void exchange_reply(struct exchange *exchange, int status, const char *content_type,
		    const struct http_header *headers, u32 count, struct buf *body);

/* Ends a gRPC exchange: the message, then the status as trailers; trailers only if it is NULL. */
void exchange_reply_grpc(struct exchange *exchange, int grpc_status, const char *text,
			 const struct http_header *trailers, u32 count, struct buf *message);

#endif
