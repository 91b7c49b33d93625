// SPDX-License-Identifier: Apache-2.0
#include "net/connection.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/exchange.h"
#include "net/listener.h"

#define OUT_MAX ((size_t)1 << 20)
#define READS_MAX 4		/* in a row of one connection: others wait */
#define TLS_READS_MAX 32	/* of at most 16 KiB each */
#define ROUNDS_MAX 16

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
#define PREFACE_BYTES (sizeof(preface) - 1)

/* ---- Ends ------------------------------------------------------------------------------- */

void connection_close(struct connection *connection, enum server_count count)
{
	if (!connection->closing && !connection->broken)
		server_count(connection->server, count);
	connection->closing = true;
}

void connection_break(struct connection *connection, enum server_count count)
{
	if (!connection->closing && !connection->broken)
		server_count(connection->server, count);
	connection->broken = true;
}

bool connection_has_output(const struct connection *connection)
{
	return connection->out_sent < connection->out.len || connection->tail_sent < connection->tail.len;
}

/* ---- The first bytes -------------------------------------------------------------------- */

static void start_protocol(struct connection *connection, bool http2)
{
	int r = http2 ? http2_start(connection) : http1_start(connection);

	if (r < 0)
		connection_break(connection, COUNT_CLOSED_PROTOCOL);
	else
		connection->protocol = http2 ? &http2_protocol : &http1_protocol;
}

static void feed(struct connection *connection, char *at, size_t bytes)
{
	if (connection->protocol && connection->protocol->input(connection, at, bytes) < 0)
		connection_close(connection, COUNT_CLOSED_PROTOCOL);
}

/* As long as it may become the preface of HTTP/2, more is waited for. */
static void choose_protocol(struct connection *connection, char *at, size_t bytes)
{
	struct buf first = connection->first;
	size_t compare;

	if (first.len) {
		buf_add(&first, at, bytes);
		if (buf_err(&first) < 0) {
			connection->first = first;
			connection_break(connection, COUNT_CLOSED_PROTOCOL);
			return;
		}
		at = first.data;
		bytes = first.len;
	}
	compare = bytes < PREFACE_BYTES ? bytes : PREFACE_BYTES;
	if (!memcmp(at, preface, compare) && bytes < PREFACE_BYTES) {
		if (!first.len)
			buf_add(&first, at, bytes);
		connection->first = first;
		return;
	}
	buf_init(&connection->first, 0);
	start_protocol(connection, !memcmp(at, preface, compare));
	feed(connection, at, bytes);
	buf_done(&first);
}

void connection_input(struct connection *connection, char *at, size_t bytes)
{
	connection->read_ns = loop_now(connection->server->loop);
	if (!connection_has_output(connection))
		connection->wrote_ns = connection->read_ns;
	if (connection->closing || connection->broken)
		return;
	if (connection->protocol)
		feed(connection, at, bytes);
	else
		choose_protocol(connection, at, bytes);
}

/* ---- TLS ---------------------------------------------------------------------------------- */

/* 0 with what to wait for in connection->want, or -EIO. */
static int tls_wants(struct connection *connection, int result)
{
	switch (SSL_get_error(connection->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		connection->want = EPOLLIN;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		connection->want = EPOLLOUT;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		ERR_clear_error();
		return -EIO;
	}
}

/* Somebody speaks HTTP to a port with TLS: say so, in the words of Go's server. */
static void answer_plain(struct connection *connection)
{
	static const char text[] = "HTTP/1.0 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
				   "Client sent an HTTP request to an HTTPS server.\n";

	(void)send(connection->fd.fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void finish_handshake(struct connection *connection)
{
	const unsigned char *name = NULL;
	unsigned len = 0;

	connection->handshaking = false;
	SSL_get0_alpn_selected(connection->ssl, &name, &len);
	if (len == 2 && !memcmp(name, "h2", 2))
		start_protocol(connection, true);
}

static void handshake(struct connection *connection)
{
	char first;
	int r;

	if (!SSL_get_rbio(connection->ssl)) {
		if (recv(connection->fd.fd, &first, 1, MSG_PEEK) == 1 && first != 0x16) {
			answer_plain(connection);
			connection_break(connection, COUNT_CLOSED_TLS);
			return;
		}
		if (!SSL_set_fd(connection->ssl, connection->fd.fd)) {
			connection_break(connection, COUNT_CLOSED_TLS);
			return;
		}
	}
	ERR_clear_error();
	r = SSL_accept(connection->ssl);
	connection->want = 0;
	if (r == 1)
		finish_handshake(connection);
	else if (tls_wants(connection, r) != -EAGAIN)
		connection_break(connection, COUNT_CLOSED_TLS);
}

/* ---- Reading and writing -------------------------------------------------------------------- */

/* Bytes, 0 at the end, -errno. */
static ssize_t transport_read(struct connection *connection, void *at, size_t bytes)
{
	ssize_t n;

	if (!connection->ssl) {
		n = recv(connection->fd.fd, at, bytes, MSG_DONTWAIT);
		return n < 0 ? -errno : n;
	}
	ERR_clear_error();
	n = SSL_read(connection->ssl, at, (int)bytes);
	return n > 0 ? n : tls_wants(connection, (int)n);
}

static ssize_t transport_write(struct connection *connection)
{
	struct iovec parts[2] = {
		{ connection->out.data + connection->out_sent, connection->out.len - connection->out_sent },
		{ connection->tail.data + connection->tail_sent, connection->tail.len - connection->tail_sent },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	const struct iovec *part = &parts[parts[0].iov_len ? 0 : 1];
	ssize_t n;

	if (!connection->ssl) {
		n = sendmsg(connection->fd.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		return n < 0 ? -errno : n;
	}
	ERR_clear_error();
	n = SSL_write(connection->ssl, part->iov_base, part->iov_len > OUT_MAX ? (int)OUT_MAX : (int)part->iov_len);
	return n > 0 ? n : tls_wants(connection, (int)n);
}

/* Without a socket (fuzzing) everything is taken. */
static void write_output(struct connection *connection)
{
	while (connection_has_output(connection) && !connection->broken) {
		size_t of_out = connection->out.len - connection->out_sent;
		ssize_t n = (ssize_t)(of_out + connection->tail.len - connection->tail_sent);

		if (connection->fd.fd >= 0)
			n = transport_write(connection);
		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			connection->broken = true;
			return;
		}
		connection->wrote_ns = loop_now(connection->server->loop);
		connection->out_sent += (size_t)n < of_out ? (size_t)n : of_out;
		connection->tail_sent += (size_t)n < of_out ? 0 : (size_t)n - of_out;
	}
	/* An idle connection holds no memory. */
	if (!connection_has_output(connection)) {
		buf_done(&connection->out);
		buf_done(&connection->tail);
		connection->out_sent = connection->tail_sent = 0;
	}
}

/* While the server is held nobody begins a request, but what has begun goes on. */
static bool must_wait(const struct connection *connection)
{
	return connection->server->held && !connection->exchange_count && !connection->handshaking;
}

static bool wants_input(const struct connection *connection)
{
	return !must_wait(connection) && !connection->ended && !connection->broken &&
	       (!connection->closing || connection->lingering) && !connection->paused &&
	       !(connection->stalled_link && connection->protocol == &http1_protocol);
}

static void read_input(struct connection *connection)
{
	char *buffer = connection->server->read_buffer;

	connection->want = 0;
	for (int i = 0; wants_input(connection); i++) {
		ssize_t n;

		if (i >= (connection->ssl ? TLS_READS_MAX : READS_MAX) &&
		    !(connection->ssl && SSL_has_pending(connection->ssl)))
			return;
		n = transport_read(connection, buffer, READ_BYTES);
		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n < 0) {
			connection->broken = true;
			return;
		}
		if (n == 0) {
			connection->ended = true;
			if (connection->protocol && !connection->lingering)
				connection->protocol->ended(connection);
			return;
		}
		if (!connection->lingering)
			connection_input(connection, buffer, (size_t)n);
		/* Less than asked for: there is no more now. */
		if (!connection->ssl && (size_t)n < READ_BYTES)
			return;
	}
}

/* ---- Settling ------------------------------------------------------------------------------- */

/* Once all is sent the peer gets time to read it: closing with unread input would reset the connection. */
static void linger(struct connection *connection)
{
	connection->lingering = true;
	connection->linger_until_ns = loop_now(connection->server->loop) + LINGER_NS;
	if (connection->ssl)
		(void)SSL_shutdown(connection->ssl);
	ERR_clear_error();
	if (connection->fd.fd < 0 || shutdown(connection->fd.fd, SHUT_WR) < 0)
		connection->broken = true;
}

static void pump(struct connection *connection)
{
	for (int i = 0; i < ROUNDS_MAX && !connection->broken; i++) {
		write_output(connection);
		if (connection_has_output(connection) || !connection->protocol)
			return;
		connection->wrote_ns = loop_now(connection->server->loop);
		connection->protocol->output(connection);
		if (connection->ssl && !connection->paused && SSL_has_pending(connection->ssl))
			read_input(connection);
		if (!connection_has_output(connection))
			return;
	}
}

static bool is_over(const struct connection *connection)
{
	if (connection->broken)
		return true;
	return connection->ended && (connection->lingering || !connection->exchange_count) &&
	       !connection_has_output(connection);
}

static u64 next_check(struct connection *connection, u64 now_ns);

void connection_settle(struct connection *connection)
{
	struct loop *loop = connection->server->loop;
	u32 events = 0;
	u64 at_ns;

	if (!connection->handshaking)
		pump(connection);
	at_ns = next_check(connection, loop_now(loop));
	if (!connection->handshaking)
		pump(connection);
	if (connection->closing && !connection->lingering && !connection->broken &&
	    !connection_has_output(connection)) {
		linger(connection);
		at_ns = connection->linger_until_ns;
	}
	if (is_over(connection)) {
		connection_free(connection);
		return;
	}
	if (wants_input(connection))
		events |= EPOLLIN;
	else if (!connection->peer_left)
		events |= EPOLLRDHUP;	/* somebody may work for a peer that is gone */
	if (connection_has_output(connection))
		events |= EPOLLOUT;
	if (connection->handshaking && connection->want)
		events = connection->want;
	else if (connection->want && (events & EPOLLOUT))
		events |= connection->want;
	if (connection->fd.fd >= 0 && loop_watch(loop, &connection->fd, events) < 0) {
		connection_free(connection);
		return;
	}
	if (!connection->timer.at_ns || at_ns < connection->timer.at_ns)
		loop_timer_set(loop, &connection->timer, at_ns);
}

/* What it sent is read in its turn, after the reply; until then only this is known of the end. */
static void note_peer_left(struct connection *connection)
{
	connection->peer_left = true;
	for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next)
		atomic_store(&exchange->peer_left, true);
}

static void ready(struct loop_fd *fd, u32 events)
{
	struct connection *connection = (struct connection *)((char *)fd - offsetof(struct connection, fd));

	if (events & EPOLLRDHUP)
		note_peer_left(connection);
	if (events & (EPOLLERR | EPOLLHUP))
		connection->broken = true;
	else if (connection->handshaking)
		handshake(connection);
	if (!connection->handshaking && (events & EPOLLIN))
		read_input(connection);
	connection_settle(connection);
}

void connection_reply(struct exchange *exchange)
{
	struct connection *connection = exchange->connection;

	if (!connection_has_output(connection))
		connection->wrote_ns = loop_now(connection->server->loop);
	connection->answered++;
	connection->protocol->reply(connection, exchange);
	connection_settle(connection);
}

void connection_abort(struct connection *connection, const struct route_entry *entry)
{
	struct exchange *exchange, *next;

	for (exchange = connection->exchanges; exchange; exchange = next) {
		struct exchange *stand_in;

		next = exchange->next;
		if (exchange->route != entry || exchange->replied)
			continue;
		stand_in = exchange_stand_in(exchange);
		if (stand_in)
			connection->protocol->reply(connection, stand_in);
		else
			connection->broken = true;
	}
	connection_settle(connection);
}

void connection_drain(struct connection *connection)
{
	if (!connection->draining) {
		connection->draining = true;
		connection->drained_ns = loop_now(connection->server->loop);
		if (connection->protocol)
			connection->protocol->drain(connection);
		else
			connection->closing = true;
	}
	connection_settle(connection);
}

/* ---- Time ------------------------------------------------------------------------------------- */

/* The earlier of two times, where 0 is never. */
static u64 sooner(u64 a, u64 b)
{
	return !a ? b : !b || a < b ? a : b;
}

static u64 check_age(struct connection *connection, u64 now_ns)
{
	const struct connection_limits *limits = &connection->limits;
	u64 end_ns = connection->accepted_ns + limits->age_ns;

	if (!limits->age_ns)
		return 0;
	if (now_ns < end_ns)
		return end_ns;
	if (!connection->draining) {
		server_count(connection->server, COUNT_CLOSED_AGE);
		connection->draining = true;
		connection->drained_ns = now_ns;
		connection->protocol->drain(connection);
	}
	if (!limits->age_grace_ns)
		return 0;
	if (now_ns >= end_ns + limits->age_grace_ns)
		connection->broken = true;
	return end_ns + limits->age_grace_ns;
}

/* Looks at everything that has a time; the next time to look. */
static u64 next_check(struct connection *connection, u64 now_ns)
{
	u64 at_ns = 0;

	if (connection->lingering) {
		if (now_ns >= connection->linger_until_ns)
			connection->broken = true;
		return connection->linger_until_ns;
	}
	if (connection_has_output(connection)) {
		at_ns = connection->wrote_ns + connection->limits.write_ns;
		if (now_ns >= at_ns)
			connection_break(connection, COUNT_CLOSED_WRITE_LATE);
	} else {
		connection->wrote_ns = now_ns;
	}
	if (connection->closing)
		return at_ns;
	if (!connection->protocol) {
		at_ns = sooner(at_ns, connection->accepted_ns + FIRST_BYTES_TIMEOUT_NS);
		if (now_ns >= at_ns)
			connection_break(connection, COUNT_CLOSED_FIRST_LATE);
		return at_ns;
	}
	at_ns = sooner(at_ns, connection->protocol->check(connection, now_ns));
	return sooner(at_ns, check_age(connection, now_ns));
}

static void expired(struct loop_timer *timer, u64 now_ns)
{
	connection_settle((struct connection *)((char *)timer - offsetof(struct connection, timer)));
}

/* ---- Room for bodies ----------------------------------------------------------------------------- */

void connection_stall(struct connection *connection)
{
	struct server *server = connection->server;

	if (connection->stalled_link)
		return;
	connection->next_stalled = server->stalled;
	connection->stalled_link = &server->stalled;
	if (connection->next_stalled)
		connection->next_stalled->stalled_link = &connection->next_stalled;
	server->stalled = connection;
}

static void unlink_stalled(struct connection *connection)
{
	if (!connection->stalled_link)
		return;
	*connection->stalled_link = connection->next_stalled;
	if (connection->next_stalled)
		connection->next_stalled->stalled_link = connection->stalled_link;
	connection->stalled_link = NULL;
}

void connection_unstall(struct connection *connection)
{
	unlink_stalled(connection);
	for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next)
		exchange_set_early(exchange, !exchange->dispatched && !exchange->refused);
	if (connection->protocol == &http2_protocol)
		http2_ask(connection);
	connection_settle(connection);
}

/* ---- Life ------------------------------------------------------------------------------------------ */

int connection_new(struct endpoint *endpoint, int fd, const struct caller *peer, SSL *ssl,
		   struct connection **ret_connection)
{
	struct server *server = endpoint->server;
	struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection)
		return -ENOMEM;
	connection->server = server;
	connection->endpoint = endpoint;
	connection->fd = (struct loop_fd){ .fd = -1, .ready = ready };
	connection->timer.expired = expired;
	r = loop_timer_add(server->loop, &connection->timer);
	if (r < 0) {
		free(connection);
		return r;
	}
	connection->fd.fd = fd;
	connection->ssl = ssl;
	connection->handshaking = ssl != NULL;
	endpoint_limits(endpoint, &connection->limits);
	connection->peer = *peer;
	connection->share = shares_of(&server->shares, peer->key);
	connection->share->connections++;
	buf_init(&connection->first, PREFACE_BYTES + READ_BYTES);
	buf_init(&connection->out, OUT_MAX);
	connection->accepted_ns = connection->read_ns = connection->wrote_ns = loop_now(server->loop);
	connection->idle_since_ns = connection->accepted_ns;
	connection->next = endpoint->connections;
	connection->link = &endpoint->connections;
	if (connection->next)
		connection->next->link = &connection->next;
	endpoint->connections = connection;
	metric_set(server->connection_gauge, ++server->connection_count);
	*ret_connection = connection;
	return 0;
}

void connection_free(struct connection *connection)
{
	struct server *server = connection->server;
	struct endpoint *endpoint = connection->endpoint;

	while (connection->exchanges)
		exchange_detach(connection->exchanges);
	if (connection->protocol)
		connection->protocol->free(connection);
	unlink_stalled(connection);
	loop_forget(server->loop, &connection->fd);
	loop_timer_remove(server->loop, &connection->timer);
	SSL_free(connection->ssl);
	if (connection->fd.fd >= 0)
		close(connection->fd.fd);
	*connection->link = connection->next;
	if (connection->next)
		connection->next->link = connection->link;
	buf_done(&connection->first);
	buf_done(&connection->out);
	buf_done(&connection->tail);
	connection->share->connections--;
	metric_set(server->connection_gauge, --server->connection_count);
	free(connection);
	endpoint_connection_gone(endpoint);
}
