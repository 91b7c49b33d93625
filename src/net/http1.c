// SPDX-License-Identifier: Apache-2.0
/* HTTP/1.1 on a connection: one request at a time, in order. See net/connection.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "net/connection.h"
#include "net/exchange.h"
#include "net/http1_parse.h"

#define SMALL_BODY 4096			/* is copied, so that many answers go out at once */
#define GATHER_BYTES ((size_t)64 << 10)

enum http1_state { STATE_HEAD, STATE_LENGTH, STATE_CHUNKS, STATE_BUSY };

struct http1 {
	enum http1_state state;
	struct exchange *exchange;	/* of all states but HEAD */
	struct buf in;			/* a head that is not whole, or if early: what came before its turn */
	bool early;
	size_t searched;
	u64 body_left;			/* STATE_LENGTH */
	struct http1_chunks chunks;
	size_t discarded;
	u64 head_began_ns;		/* 0: nothing of it came */
	bool keep_alive, head_only;
};

int http1_start(struct connection *connection)
{
	struct http1 *http1 = calloc(1, sizeof(*http1));

	if (!http1)
		return -ENOMEM;
	buf_init(&http1->in, HEAD_BYTES_MAX + READ_BYTES);
	http1->head_began_ns = connection->accepted_ns;
	connection->http1 = http1;
	return 0;
}

static void http1_free(struct connection *connection)
{
	buf_done(&connection->http1->in);
	free(connection->http1);
}

/* ---- Replies ---------------------------------------------------------------------------- */

static void add_date(struct buf *out)
{
	time_t now = (time_t)(clock_ns(CLOCK_REALTIME) / SECOND_NS);
	char text[40];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	buf_addf(out, "date: %s\r\n", text);
}

static void add_head(struct buf *out, const struct reply *reply, bool keep_alive)
{
	const char *name, *value;
	size_t at = 0;

	buf_addf(out, "HTTP/1.1 %d %s\r\n", reply->status, http_reason(reply->status));
	add_date(out);
	for (u32 i = 0; i < reply->header_count; i++) {
		reply_field(reply, &at, &name, &value);
		buf_addf(out, "%s: %s\r\n", name, value);
	}
	if (reply->status != 204 && reply->status != 304)
		buf_addf(out, "content-length: %zu\r\n", reply->body.len);
	buf_addf(out, "%s\r\n", keep_alive ? "" : "connection: close\r\n");
}

/* What is left of the request, if it was refused, is not worth reading: the connection ends. */
static void http1_reply(struct connection *connection, struct exchange *exchange)
{
	struct http1 *http1 = connection->http1;
	bool keep_alive = http1->keep_alive && http1->state == STATE_BUSY && !connection->draining &&
			  !connection->ended;

	add_head(&connection->out, &exchange->reply, keep_alive);
	if (!http1->head_only && exchange->reply.body.len <= SMALL_BODY) {
		buf_add(&connection->out, exchange->reply.body.data, exchange->reply.body.len);
	} else if (!http1->head_only) {
		buf_done(&connection->tail);
		connection->tail = exchange->reply.body;
		connection->tail_sent = 0;
		exchange->reply.body = (struct buf){ 0 };
	}
	if (buf_err(&connection->out) < 0)
		connection->broken = true;
	if (!keep_alive)
		connection->closing = true;
	exchange_detach(exchange);
	http1->exchange = NULL;
	http1->state = STATE_HEAD;
	http1->head_began_ns = 0;
	connection->paused = true;	/* until it is sent */
	connection->idle_since_ns = loop_now(connection->server->loop);
}

/* A request that cannot be understood: what follows it cannot be either. */
static void refuse(struct connection *connection, enum server_count count, int status, const char *text)
{
	connection->http1->keep_alive = false;
	exchange_refuse(connection->http1->exchange, count, status, text);
	http1_reply(connection, connection->http1->exchange);
}

static void refuse_head(struct connection *connection, int error)
{
	switch (error) {
	case -EPROTONOSUPPORT:
		refuse(connection, COUNT_BAD_REQUEST, 505, "HTTP/1.1 and HTTP/2 are spoken here");
		break;
	case -ENOSYS:
		refuse(connection, COUNT_BAD_REQUEST, 501, "the only transfer coding known here is chunked");
		break;
	case -EINVAL:
		refuse(connection, COUNT_BAD_REQUEST, 417, "the only expectation known here is 100-continue");
		break;
	case -E2BIG:
		refuse(connection, COUNT_HEAD_TOO_LARGE, 431, "the request's headers are too large");
		break;
	case -ENOMEM:
		refuse(connection, COUNT_BODIES_FULL, 503, "the server is out of memory");
		break;
	default:
		refuse(connection, COUNT_BAD_REQUEST, 400, "this is not an HTTP/1.1 request");
	}
}

/* ---- Requests --------------------------------------------------------------------------- */

static int add_header(void *arg, const char *name, size_t name_len, const char *value, size_t value_len)
{
	return exchange_add_header(arg, name, name_len, value, value_len);
}

/* The body is whole. */
static void finish_request(struct connection *connection)
{
	struct http1 *http1 = connection->http1;

	http1->state = STATE_BUSY;
	if (http1->exchange->refused) {
		http1_reply(connection, http1->exchange);
		return;
	}
	connection->paused = true;
	exchange_dispatch(http1->exchange);
}

/* Of a refused request the body is read and forgotten if it is small, else the answer comes at once. */
static void refuse_body(struct connection *connection, const struct http1_head *head)
{
	if (head->expect_continue || head->content_length > (s64)DISCARD_MAX)
		http1_reply(connection, connection->http1->exchange);
}

/* Who is to come later, with a body that is large or was not sent yet: it is not read, and the connection ends. */
static bool is_unwanted(struct connection *connection, const struct http1_head *head)
{
	if (!connection->http1->exchange->shed ||
	    (!head->expect_continue && head->content_length <= (s64)DISCARD_MAX))
		return false;
	connection->http1->keep_alive = false;
	return true;
}

static void begin_body(struct connection *connection, const struct http1_head *head)
{
	struct http1 *http1 = connection->http1;
	int r = exchange_route(http1->exchange, head->content_length);

	http1->discarded = 0;
	http1->state = head->chunked ? STATE_CHUNKS : STATE_LENGTH;
	http1->chunks = (struct http1_chunks){ 0 };
	http1->body_left = head->content_length > 0 ? (u64)head->content_length : 0;
	if ((!head->chunked && !http1->body_left) || (r == 0 && is_unwanted(connection, head)))
		finish_request(connection);
	else if (r < 0)
		refuse_body(connection, head);
	else if (head->expect_continue)
		buf_addf(&connection->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void take_head(struct connection *connection, char *at, size_t bytes)
{
	struct http1 *http1 = connection->http1;
	struct http1_head head = { 0 };
	struct exchange *exchange = exchange_new(connection);
	int r;

	if (!exchange) {
		connection_break(connection, COUNT_EXCHANGES_FULL);
		return;
	}
	http1->exchange = exchange;
	http1->head_only = http1->keep_alive = false;
	r = http1_parse_head(at, bytes, add_header, exchange, &head);
	if (r == 0)
		r = exchange_set_method(exchange, head.method, head.method_len);
	if (r == 0)
		r = exchange_set_target(exchange, head.target, head.target_len);
	if (r < 0) {
		refuse_head(connection, r);
		return;
	}
	http1->keep_alive = head.keep_alive && !connection->limits.close_after_request;
	http1->head_only = head.method_len == 4 && !memcmp(head.method, "HEAD", 4);
	begin_body(connection, &head);
}

/* Gathers a head; how many of the bytes it took. */
static size_t head_input(struct connection *connection, char *at, size_t bytes)
{
	struct http1 *http1 = connection->http1;
	size_t before = http1->in.len, head_bytes;

	/* An empty line before a request is forgiven (RFC 9112 2.2). */
	if (!before && bytes >= 2 && at[0] == '\r' && at[1] == '\n')
		return 2;
	if (!http1->head_began_ns)
		http1->head_began_ns = loop_now(connection->server->loop);
	if (before) {
		buf_add(&http1->in, at, bytes);
		at = http1->in.data;
	}
	if (buf_err(&http1->in) < 0) {
		connection->broken = true;
		return bytes;
	}
	head_bytes = http1_head_bytes(at, before + bytes, http1->searched);
	if (head_bytes > HEAD_BYTES_MAX || (!head_bytes && before + bytes > HEAD_BYTES_MAX)) {
		http1->exchange = exchange_new(connection);
		if (http1->exchange)
			refuse_head(connection, -E2BIG);
		else
			connection->broken = true;
	} else if (head_bytes) {
		take_head(connection, at, head_bytes);
	} else {
		if (!before)
			buf_add(&http1->in, at, bytes);
		http1->searched = before + bytes;
		return bytes;
	}
	buf_done(&http1->in);
	http1->searched = 0;
	return head_bytes > before ? head_bytes - before : bytes;
}

/* Appends to the body, or forgets it if the request was refused. */
static void body_bytes(struct connection *connection, const char *at, size_t bytes)
{
	struct http1 *http1 = connection->http1;
	struct exchange *exchange = http1->exchange;

	if (exchange_append(exchange, at, bytes) == 0) {
		if (exchange_must_wait(exchange))
			connection_stall(connection);
		return;
	}
	http1->discarded += bytes;
	if (http1->discarded > DISCARD_MAX || http1->body_left > DISCARD_MAX)
		http1_reply(connection, exchange);
}

static size_t length_input(struct connection *connection, char *at, size_t bytes)
{
	struct http1 *http1 = connection->http1;
	size_t taken = http1->body_left < bytes ? (size_t)http1->body_left : bytes;

	http1->body_left -= taken;
	body_bytes(connection, at, taken);
	if (http1->exchange && !http1->body_left)
		finish_request(connection);
	return taken;
}

static size_t chunks_input(struct connection *connection, char *data, size_t bytes)
{
	struct http1 *http1 = connection->http1;
	const char *at = data, *piece;
	size_t left = bytes, piece_bytes;
	int r = 1;

	while (r == 1 && http1->exchange) {
		r = http1_chunk(&http1->chunks, &at, &left, &piece, &piece_bytes);
		if (r == 1)
			body_bytes(connection, piece, piece_bytes);
	}
	if (!http1->exchange)
		return bytes - left;
	if (r == 0)
		finish_request(connection);
	else if (r == -EBADMSG && http1->exchange->refused)
		http1_reply(connection, http1->exchange);
	else if (r == -EBADMSG)
		refuse(connection, COUNT_BAD_REQUEST, 400, "the chunks of the body cannot be read");
	return bytes - left;
}

/* Answers are sent before more requests are read. */
static bool is_full(const struct connection *connection)
{
	return connection->tail.len || connection->out.len >= GATHER_BYTES;
}

static int http1_input(struct connection *connection, char *at, size_t bytes)
{
	struct http1 *http1 = connection->http1;

	while (bytes && !connection->closing && !connection->broken) {
		size_t taken = 0;

		if (http1->state == STATE_BUSY && !http1->keep_alive)
			return 0;	/* nobody will read it */
		if (http1->state == STATE_BUSY || (http1->state == STATE_HEAD && is_full(connection))) {
			http1->early = true;
			buf_add(&http1->in, at, bytes);
			return buf_err(&http1->in);
		}
		if (http1->state == STATE_HEAD)
			taken = head_input(connection, at, bytes);
		else if (http1->state == STATE_LENGTH)
			taken = length_input(connection, at, bytes);
		else
			taken = chunks_input(connection, at, bytes);
		at += taken;
		bytes -= taken;
	}
	return 0;
}

/* The reply is sent: now what came early has its turn. */
static void http1_output(struct connection *connection)
{
	struct http1 *http1 = connection->http1;
	struct buf early = http1->in;

	if (http1->state == STATE_BUSY)
		return;
	connection->paused = false;
	if (!http1->early)
		return;
	http1->early = false;
	buf_init(&http1->in, early.max);
	if (http1_input(connection, early.data, early.len) < 0)
		connection->broken = true;
	buf_done(&early);
}

static void http1_ended(struct connection *connection)
{
	struct http1 *http1 = connection->http1;

	if (!http1->exchange || http1->state == STATE_BUSY)
		return;
	if (http1->exchange->refused)
		http1_reply(connection, http1->exchange);
	else
		connection->broken = true;
}

static void http1_drain(struct connection *connection)
{
	if (connection->http1->state == STATE_HEAD && !connection->http1->in.len)
		connection->closing = true;
}

static u64 check_head(struct connection *connection, u64 now_ns)
{
	struct http1 *http1 = connection->http1;
	const struct connection_limits *limits = &connection->limits;
	u64 limit_ns = limits->head_ns < limits->request_ns ? limits->head_ns : limits->request_ns;
	u64 idle_end_ns = connection->idle_since_ns + connection->limits.idle_ns;

	if (!http1->head_began_ns) {
		if (now_ns >= idle_end_ns)
			connection_close(connection, COUNT_CLOSED_IDLE);
		return idle_end_ns;
	}
	if (now_ns >= http1->head_began_ns + limit_ns) {
		http1->exchange = exchange_new(connection);
		if (http1->exchange)
			refuse(connection, COUNT_REQUEST_LATE, 408, "the request's headers took too long");
		else
			connection->broken = true;
	}
	return http1->head_began_ns + limit_ns;
}

static u64 http1_check(struct connection *connection, u64 now_ns)
{
	struct http1 *http1 = connection->http1;
	u64 end_ns;

	if (http1->state == STATE_BUSY)
		return 0;
	if (http1->state == STATE_HEAD)
		return check_head(connection, now_ns);
	end_ns = exchange_end_ns(http1->exchange);
	if (now_ns < end_ns)
		return end_ns;
	if (http1->exchange->refused)
		http1_reply(connection, http1->exchange);
	else
		refuse(connection, COUNT_REQUEST_LATE, 408, "the request's body took too long");
	return end_ns;
}

const struct protocol http1_protocol = {
	.input = http1_input,
	.reply = http1_reply,
	.output = http1_output,
	.ended = http1_ended,
	.drain = http1_drain,
	.check = http1_check,
	.free = http1_free,
};
