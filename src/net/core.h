/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the server share: the server itself, its limits and its
 * counters. Private to net/.
 *
 * All of it belongs to the loop's thread, except what is said to be under
 * route_lock, and the counters.
 */
#ifndef NET_CORE_H
#define NET_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/types.h"
#include "net/loop.h"
#include "net/server.h"
#include "net/shares.h"
#include "net/work.h"

struct connection;
struct endpoint;
struct passed;

#define CONNECTIONS_MAX 4096
#define EXCHANGES_MAX 4096			/* open at once, over all connections; one caller may have half */
#define HEAD_BYTES_MAX ((size_t)64 << 10)	/* of a request's line and headers */
#define HEADERS_MAX 256
#define STREAMS_MAX 100				/* of an HTTP/2 connection at once */
#define WORK_WAITING_MAX 1024			/* by server_work() */

/*
 * Bodies that are held, over all connections. Past the first limit, requests
 * that begin wait: their peers are not asked for more until the earlier ones
 * are answered. Past the second, requests get 503.
 */
#define BODIES_SOFT_MAX ((size_t)128 << 20)
#define BODIES_HARD_MAX ((size_t)256 << 20)

/* Of a refused request so much is read and thrown away, so that the connection can be used again. */
#define DISCARD_MAX ((size_t)1 << 20)

/*
 * Who is to come later, to save CPU time, hears that one after the other, at this pace: those who ask again at once
 * wait in line meanwhile. After LATE_MAX_NS in any case: senders give up after 5 s and more.
 */
#define LATE_EACH_NS (SECOND_NS / 12)
#define LATE_MIN_NS SECOND_NS
#define LATE_MAX_NS (8 * SECOND_NS)

#define READ_BYTES ((size_t)256 << 10)

#define FIRST_BYTES_TIMEOUT_NS (10 * SECOND_NS)	/* from accept to the first request: TLS, preface */
#define HEAD_TIMEOUT_NS (20 * SECOND_NS)
#define REQUEST_TIMEOUT_NS (600 * SECOND_NS)	/* for the whole of it */
#define BODY_TIMEOUT_NS (60 * SECOND_NS)	/* without a byte of it */
#define IDLE_TIMEOUT_NS (300 * SECOND_NS)	/* of HTTP/1.1; HTTP/2 is pinged instead */
#define WRITE_TIMEOUT_NS (30 * SECOND_NS)	/* without the peer taking a byte, of the connection or of a stream */
#define LINGER_NS (2 * SECOND_NS)
#define PING_INTERVAL_NS (7200 * SECOND_NS)
#define PING_TIMEOUT_NS (20 * SECOND_NS)

#define SERVER_COUNTS(X)										\
	X(ACCEPTED, "wick_server_connections_total", "outcome", "accepted", "Connections that came in")	\
	X(CONNECTIONS_FULL, "wick_server_connections_total", "outcome", "too_many", NULL)		\
	X(ACCEPT_FAILED, "wick_server_connections_total", "outcome", "failed", NULL)			\
	X(HTTP1, "wick_server_requests_total", "protocol", "http1", "Requests whose headers were read")	\
	X(HTTP2, "wick_server_requests_total", "protocol", "http2", NULL)				\
	X(NOT_FOUND, "wick_server_refused_total", "reason", "path", "Requests refused by the server itself") \
	X(BAD_METHOD, "wick_server_refused_total", "reason", "method", NULL)				\
	X(BAD_TYPE, "wick_server_refused_total", "reason", "content_type", NULL)			\
	X(BAD_HOST, "wick_server_refused_total", "reason", "host", NULL)				\
	X(BAD_REQUEST, "wick_server_refused_total", "reason", "malformed", NULL)			\
	X(HEAD_TOO_LARGE, "wick_server_refused_total", "reason", "headers_too_large", NULL)		\
	X(BODY_TOO_LARGE, "wick_server_refused_total", "reason", "body_too_large", NULL)		\
	X(BODIES_FULL, "wick_server_refused_total", "reason", "out_of_memory", NULL)			\
	X(SHARE_FULL, "wick_server_refused_total", "reason", "share", NULL)				\
	X(EXCHANGES_FULL, "wick_server_refused_total", "reason", "too_many", NULL)			\
	X(SENDER_TIME, "wick_server_refused_total", "reason", "cpu_budget", NULL)			\
	X(CLOSING, "wick_server_refused_total", "reason", "shutting_down", NULL)			\
	X(REQUEST_LATE, "wick_server_refused_total", "reason", "too_slow", NULL)			\
	X(CLOSED_FIRST_LATE, "wick_server_closed_total", "reason", "no_request", "Connections closed by the server") \
	X(CLOSED_IDLE, "wick_server_closed_total", "reason", "idle", NULL)				\
	X(CLOSED_AGE, "wick_server_closed_total", "reason", "age", NULL)				\
	X(CLOSED_WRITE_LATE, "wick_server_closed_total", "reason", "write_stalled", NULL)		\
	X(CLOSED_PING_LATE, "wick_server_closed_total", "reason", "ping_unanswered", NULL)		\
	X(CLOSED_RESETS, "wick_server_closed_total", "reason", "too_many_resets", NULL)			\
	X(CLOSED_PINGS, "wick_server_closed_total", "reason", "too_many_pings", NULL)			\
	X(CLOSED_GREEDY, "wick_server_closed_total", "reason", "others_need_room", NULL)		\
	X(CLOSED_PROTOCOL, "wick_server_closed_total", "reason", "protocol_error", NULL)		\
	X(CLOSED_TLS, "wick_server_closed_total", "reason", "tls", NULL)				\
	X(TLS_RELOADED, "wick_server_tls_reloads_total", "outcome", "ok", "TLS files that were read again") \
	X(TLS_RELOAD_FAILED, "wick_server_tls_reloads_total", "outcome", "failed", NULL)

enum server_count {
#define X(id, ...) COUNT_##id,
	SERVER_COUNTS(X)
#undef X
	SERVER_COUNT_COUNT,
};

struct server {
	struct loop *loop;
	struct work *work;
	struct metric *counts[SERVER_COUNT_COUNT];
	struct metric *connection_gauge, *body_bytes_gauge, *exchange_gauge;
	struct endpoint *endpoints;
	char machine[256];		/* its name */
	struct shares shares;		/* of callers */
	bool held;			/* a reload: endpoints without members stay */
	char *read_buffer;		/* READ_BYTES: what was just read, of whichever connection */
	u32 connection_count, connections_max, exchange_count;
	size_t body_bytes;		/* of all exchanges */
	struct budget_charge charge;	/* of body_bytes */
	size_t bodies_soft_max, bodies_hard_max;
	u32 early_count;		/* requests being read that do not wait: see BODIES_SOFT_MAX */
	struct connection *stalled;	/* those that are not asked for more */
	struct loop_post ask;		/* them again */
	bool ask_posted;
	u64 loop_used_ns;		/* CPU time of the loop's thread when it last routed a request; 0: not known */
	u64 last_late_ns;		/* when the last answer that is held back goes out */
	struct server_hooks hooks;
	struct passed *passed;		/* NULL: none. Set before anybody listens */
	struct loop_timer pulse;
	atomic_uint work_waiting;
	/* Of route entries: counts of what is under way. */
	pthread_mutex_t route_lock;
	pthread_cond_t route_quiet;
};

static inline void server_count(struct server *server, enum server_count count)
{
	metric_add(server->counts[count], 1);
}

/* A server whose loop and work run in the caller's thread, or in threads of their own. */
int server_make(struct metrics *metrics, bool threads, struct server **ret_server);

/* Bodies take more, or less. */
int server_hold_bytes(struct server *server, size_t bytes);	/* -ENOMEM, -E2BIG: the budget has no room */
void server_release_bytes(struct server *server, size_t bytes);

/* Those that wait are asked for more, soon, if there is room, or nobody else who could make some. */
void server_ask_again(struct server *server);

#endif
