// SPDX-License-Identifier: Apache-2.0
/* HTTP/2 on a connection, by nghttp2, which is fed bytes and makes bytes. See net/connection.h. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "net/connection.h"
#include "net/exchange.h"

#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (4 << 20)
#define OUT_BYTES ((size_t)256 << 10)		/* gathered before they are sent */
#define DRAIN_NOTICE_NS SECOND_NS		/* between telling that the end comes and the end */

/* Pings that come too soon: so many are forgiven. */
#define PING_STRIKES_MAX 2
#define IDLE_PING_MIN_NS (7200 * SECOND_NS)

struct http2 {
	nghttp2_session *session;
	u64 ping_sent_ns;		/* 0: none is under way */
	u64 pinged_ns;			/* by the peer */
	u32 ping_strikes;		/* pings that came too soon since something was answered */
	bool notice_sent, goaway_sent;
};

/* ---- Replies ------------------------------------------------------------------------------ */

static nghttp2_nv make_nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE };
}

/* Fills count fields from *at on; *at moves behind them. */
static void fill_nvs(nghttp2_nv *nvs, const struct reply *reply, u32 count, size_t *at)
{
	for (u32 i = 0; i < count; i++) {
		const char *name, *value;

		reply_field(reply, at, &name, &value);
		nvs[i] = make_nv(name, value);
	}
}

static int submit_trailers(nghttp2_session *session, const struct exchange *exchange)
{
	const struct reply *reply = &exchange->reply;
	_cleanup_(freep) nghttp2_nv *nvs = calloc(reply->trailer_count + reply->header_count + 1, sizeof(*nvs));
	size_t at = 0;

	if (!nvs)
		return NGHTTP2_ERR_NOMEM;
	fill_nvs(nvs, reply, reply->header_count, &at);
	fill_nvs(nvs, reply, reply->trailer_count, &at);
	return nghttp2_submit_trailer(session, exchange->stream_id, nvs, reply->trailer_count);
}

static ssize_t read_reply(nghttp2_session *session, int32_t stream_id, uint8_t *to, size_t bytes, uint32_t *flags,
			  nghttp2_data_source *source, void *arg)
{
	struct exchange *exchange = source->ptr;
	struct reply *reply = &exchange->reply;
	size_t left = reply->body.len - reply->sent, taken = left < bytes ? left : bytes;

	memcpy(to, reply->body.data + reply->sent, taken);
	reply->sent += taken;
	exchange->moved_ns = loop_now(exchange->server->loop);
	if (reply->sent < reply->body.len)
		return (ssize_t)taken;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (reply->trailer_count) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (submit_trailers(session, exchange) != 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)taken;
}

static void reset_stream(struct connection *connection, struct exchange *exchange, u32 code)
{
	(void)nghttp2_submit_rst_stream(connection->http2->session, NGHTTP2_FLAG_NONE, exchange->stream_id, code);
}

static void http2_reply(struct connection *connection, struct exchange *exchange)
{
	struct reply *reply = &exchange->reply;
	_cleanup_(freep) nghttp2_nv *nvs = calloc(reply->header_count + 2, sizeof(*nvs));
	nghttp2_data_provider body = { .source.ptr = exchange, .read_callback = read_reply };
	nghttp2_session *session = connection->http2->session;
	bool head_only = !strcmp(exchange_method(exchange), "HEAD");
	char status[16], length[24];
	u32 count = 1;
	size_t at = 0;

	nghttp2_session_set_stream_user_data(session, exchange->stream_id, exchange);
	connection->http2->ping_strikes = 0;
	exchange->moved_ns = loop_now(connection->server->loop);
	if (!nvs) {
		reset_stream(connection, exchange, NGHTTP2_INTERNAL_ERROR);
		return;
	}
	snprintf(status, sizeof(status), "%d", reply->status);
	snprintf(length, sizeof(length), "%zu", reply->body.len);
	nvs[0] = make_nv(":status", status);
	fill_nvs(nvs + 1, reply, reply->header_count, &at);
	count += reply->header_count;
	if (!exchange->grpc)
		nvs[count++] = make_nv("content-length", length);
	if (nghttp2_submit_response(session, exchange->stream_id, nvs, count,
				    reply->body.len && !head_only ? &body : NULL) != 0)
		connection->broken = true;
}

/* ---- Requests ----------------------------------------------------------------------------- */

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct connection *connection = arg;
	struct exchange *exchange;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	exchange = exchange_new(connection);
	if (!exchange)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	exchange->stream_id = frame->hd.stream_id;
	exchange->http2 = true;
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, exchange);
	return 0;
}

static int add_field(struct exchange *exchange, const char *name, size_t name_len, const char *value, size_t value_len)
{
	if (name_len == 7 && !memcmp(name, ":method", 7))
		return exchange_set_method(exchange, value, value_len);
	if (name_len == 5 && !memcmp(name, ":path", 5))
		return exchange_set_target(exchange, value, value_len);
	if (name_len == 10 && !memcmp(name, ":authority", 10))
		return exchange_add_header(exchange, "host", 4, value, value_len);
	return name[0] == ':' ? 0 : exchange_add_header(exchange, name, name_len, value, value_len);
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		       const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
	struct exchange *exchange = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	int r;

	/* Trailers of requests mean nothing here. */
	if (!exchange || exchange->refused || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	r = add_field(exchange, (const char *)name, name_len, (const char *)value, value_len);
	if (r == -E2BIG)
		exchange_refuse(exchange, COUNT_HEAD_TOO_LARGE, 431, "the request's headers are too large");
	else if (r < 0)
		exchange_refuse(exchange, COUNT_BODIES_FULL, 503, "the server is out of memory");
	return 0;
}

static s64 content_length(const struct exchange *exchange)
{
	const char *text = exchange_header(exchange, "content-length");

	/* nghttp2 has checked that it is a number, and holds the peer to it. */
	return text ? strtoll(text, NULL, 10) : -1;
}

static void take_head(struct connection *connection, struct exchange *exchange)
{
	/* CONNECT has no path, and no meaning here. */
	if (!exchange->refused && !exchange->path)
		exchange_refuse(exchange, COUNT_BAD_METHOD, 405, "this is no proxy");
	if (exchange->refused || exchange_route(exchange, content_length(exchange)) < 0)
		http2_reply(connection, exchange);
}

/* As grpc-go does it, so that clients see what they know. */
static void count_ping(struct connection *connection)
{
	static const char reason[] = "too_many_pings";
	struct http2 *http2 = connection->http2;
	const struct connection_limits *limits = &connection->limits;
	u64 least_ns = connection->exchange_count || limits->idle_pings ? limits->ping_min_ns : IDLE_PING_MIN_NS;
	u64 now_ns = loop_now(connection->server->loop), since_ns = now_ns - http2->pinged_ns;
	bool is_first = !http2->pinged_ns;	/* the clock began when the machine did, which may be a moment ago */

	http2->pinged_ns = now_ns;
	if (!limits->ping_min_ns || is_first || since_ns >= least_ns || ++http2->ping_strikes <= PING_STRIKES_MAX)
		return;
	nghttp2_submit_goaway(http2->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(http2->session), NGHTTP2_ENHANCE_YOUR_CALM,
			      (const uint8_t *)reason, sizeof(reason) - 1);
	connection_close(connection, COUNT_CLOSED_PINGS);
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct connection *connection = arg;
	struct exchange *exchange;

	if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK))
		connection->http2->ping_sent_ns = 0;
	else if (frame->hd.type == NGHTTP2_PING)
		count_ping(connection);
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	exchange = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!exchange)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		take_head(connection, exchange);
	if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && !exchange->refused && !exchange->dispatched)
		exchange_dispatch(exchange);
	return 0;
}

/* The peer may send as much again as was taken; not while bodies take too much. */
static void ask_for_more(struct connection *connection, struct exchange *exchange, size_t bytes)
{
	if (exchange)
		exchange->unasked_bytes += bytes;
	if (exchange && exchange_must_wait(exchange)) {
		connection_stall(connection);
		return;
	}
	if (!exchange) {
		nghttp2_session_consume_connection(connection->http2->session, bytes);
		return;
	}
	nghttp2_session_consume(connection->http2->session, exchange->stream_id, exchange->unasked_bytes);
	exchange->unasked_bytes = 0;
}

void http2_ask(struct connection *connection)
{
	for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next)
		if (exchange->unasked_bytes)
			ask_for_more(connection, exchange, 0);
}

/*
 * The answer is out, or on its way: the peer need not send the rest (RFC 9113
 * 8.1). It is told so late, since some clients (libcurl) forget the answer if
 * they learn of both at once.
 */
static void discard(struct connection *connection, struct exchange *exchange, size_t bytes)
{
	ask_for_more(connection, NULL, bytes);
	nghttp2_session_consume_stream(connection->http2->session, exchange->stream_id, bytes);
	exchange->discarded_bytes += bytes;
	if (exchange->discarded_bytes > DISCARD_MAX)
		reset_stream(connection, exchange, NGHTTP2_NO_ERROR);
}

static int take_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *at, size_t bytes,
		     void *arg)
{
	struct connection *connection = arg;
	struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream_id);

	if (exchange && !exchange->refused && exchange_append(exchange, at, bytes) < 0)
		http2_reply(connection, exchange);
	if (exchange && exchange->refused)
		discard(connection, exchange, bytes);
	else
		ask_for_more(connection, exchange, bytes);
	return 0;
}

/* ---- Ends of streams ------------------------------------------------------------------------ */

/* Counted for the caller, who may have many connections, one after the other. */
static void count_reset(struct connection *connection)
{
	if (share_reset(connection->share, loop_now(connection->server->loop)) || connection->closing)
		return;
	nghttp2_session_terminate_session(connection->http2->session, NGHTTP2_ENHANCE_YOUR_CALM);
	server_count(connection->server, COUNT_CLOSED_RESETS);
}

static int close_stream(nghttp2_session *session, int32_t stream_id, uint32_t error_code, void *arg)
{
	struct connection *connection = arg;
	struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream_id);

	if (error_code != NGHTTP2_NO_ERROR)
		count_reset(connection);
	if (!exchange)
		return 0;
	/* What was taken but not asked for again would be lost to the connection's window. */
	if (exchange->unasked_bytes)
		nghttp2_session_consume_connection(session, exchange->unasked_bytes);
	exchange_detach(exchange);
	connection->idle_since_ns = loop_now(connection->server->loop);
	return 0;
}

/* ---- The session ------------------------------------------------------------------------------ */

static int new_session(struct connection *connection, nghttp2_session **ret_session)
{
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	int r = -1;

	if (nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0) {
		nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
		nghttp2_session_callbacks_set_on_header_callback(callbacks, take_header);
		nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, take_frame);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_data);
		nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_stream);
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_no_closed_streams(option, 1);
		r = nghttp2_session_server_new2(ret_session, callbacks, connection, option);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return r == 0 ? 0 : -ENOMEM;
}

int http2_start(struct connection *connection)
{
	nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, connection->limits.streams_max },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_BYTES_MAX },
	};
	struct http2 *http2 = calloc(1, sizeof(*http2));
	int r;

	if (!http2)
		return -ENOMEM;
	r = new_session(connection, &http2->session);
	if (r < 0) {
		free(http2);
		return r;
	}
	connection->http2 = http2;
	nghttp2_submit_settings(http2->session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(*settings));
	nghttp2_session_set_local_window_size(http2->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
	return 0;
}

static void http2_free(struct connection *connection)
{
	nghttp2_session_del(connection->http2->session);
	free(connection->http2);
}

static int http2_input(struct connection *connection, char *at, size_t bytes)
{
	ssize_t n = nghttp2_session_mem_recv(connection->http2->session, (const uint8_t *)at, bytes);

	/* What the peer is told about it, nghttp2 has made ready; then it wants no more. */
	return n < 0 ? -EPROTO : 0;
}

static void http2_output(struct connection *connection)
{
	nghttp2_session *session = connection->http2->session;

	while (connection->out.len < OUT_BYTES) {
		const uint8_t *at;
		ssize_t n = nghttp2_session_mem_send(session, &at);

		if (n < 0) {
			connection->broken = true;
			return;
		}
		if (n == 0)
			break;
		buf_add(&connection->out, at, (size_t)n);
	}
	if (buf_err(&connection->out) < 0)
		connection->broken = true;
	if (!nghttp2_session_want_read(session) && !nghttp2_session_want_write(session))
		connection->closing = true;
}

static void http2_ended(struct connection *connection)
{
	struct exchange *exchange = connection->exchanges;

	while (exchange && !exchange->dispatched)
		exchange = exchange->next;
	if (!exchange)
		connection->broken = true;
}

/* First a notice; then, when what was under way has arrived, the last stream that is served. */
static void http2_drain(struct connection *connection)
{
	struct http2 *http2 = connection->http2;

	if (!http2->notice_sent)
		nghttp2_submit_shutdown_notice(http2->session);
	http2->notice_sent = true;
}

static u64 check_drain(struct connection *connection, u64 now_ns)
{
	struct http2 *http2 = connection->http2;
	u64 end_ns = connection->drained_ns + DRAIN_NOTICE_NS;

	if (!http2->notice_sent || http2->goaway_sent)
		return 0;
	if (now_ns < end_ns && connection->exchange_count)
		return end_ns;
	nghttp2_submit_goaway(http2->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(http2->session), NGHTTP2_NO_ERROR, NULL, 0);
	http2->goaway_sent = true;
	return 0;
}

static u64 check_idle(struct connection *connection, u64 now_ns)
{
	u64 end_ns = connection->idle_since_ns + connection->limits.idle_ns;

	if (!connection->limits.http2_idle || connection->exchange_count || connection->draining)
		return 0;
	if (now_ns < end_ns)
		return end_ns;
	server_count(connection->server, COUNT_CLOSED_IDLE);
	connection->draining = true;
	connection->drained_ns = now_ns;
	http2_drain(connection);
	return check_drain(connection, now_ns);
}

static u64 check_ping(struct connection *connection, u64 now_ns)
{
	struct http2 *http2 = connection->http2;
	u64 ping_ns = connection->read_ns + connection->limits.ping_interval_ns;

	if (http2->ping_sent_ns && connection->read_ns > http2->ping_sent_ns)
		http2->ping_sent_ns = 0;
	if (!http2->ping_sent_ns && now_ns < ping_ns)
		return ping_ns;
	if (!http2->ping_sent_ns) {
		nghttp2_submit_ping(http2->session, NGHTTP2_FLAG_NONE, NULL);
		http2->ping_sent_ns = now_ns;
	}
	if (now_ns >= http2->ping_sent_ns + connection->limits.ping_timeout_ns)
		connection_break(connection, COUNT_CLOSED_PING_LATE);
	return http2->ping_sent_ns + connection->limits.ping_timeout_ns;
}

/* Until when a request must be whole; one that was refused gets a little longer, for its peer to take the answer. */
static u64 request_end_ns(const struct connection *connection, const struct exchange *exchange)
{
	u64 end_ns = exchange_end_ns(exchange);

	if (!exchange->refused)
		return end_ns;
	end_ns += LINGER_NS;
	return connection->draining && connection->drained_ns + LINGER_NS < end_ns
	       ? connection->drained_ns + LINGER_NS : end_ns;
}

/* A stream whose peer does not open its window holds the reply in memory. */
static u64 check_reply(struct connection *connection, struct exchange *exchange, u64 now_ns)
{
	u64 end_ns = exchange->moved_ns + connection->limits.write_ns;

	if (!exchange->replied)
		return 0;
	if (now_ns >= end_ns)
		reset_stream(connection, exchange, NGHTTP2_CANCEL);
	return end_ns;
}

/* A request whose body does not come to its end. */
static u64 check_request(struct connection *connection, struct exchange *exchange, u64 now_ns)
{
	u64 end_ns = request_end_ns(connection, exchange);

	if (now_ns >= end_ns && exchange->refused) {
		reset_stream(connection, exchange, NGHTTP2_NO_ERROR);
	} else if (now_ns >= end_ns) {
		exchange_refuse(exchange, COUNT_REQUEST_LATE, 408, "the request's body took too long");
		http2_reply(connection, exchange);
	}
	return end_ns;
}

static u64 check_streams(struct connection *connection, u64 now_ns)
{
	u64 first_ns = 0;

	for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next) {
		u64 at_ns = exchange->dispatched ? check_reply(connection, exchange, now_ns)
						 : check_request(connection, exchange, now_ns);

		if (at_ns && (!first_ns || at_ns < first_ns))
			first_ns = at_ns;
	}
	return first_ns;
}

static u64 http2_check(struct connection *connection, u64 now_ns)
{
	u64 times[] = { check_streams(connection, now_ns), check_idle(connection, now_ns),
			check_drain(connection, now_ns), check_ping(connection, now_ns) };
	u64 first_ns = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i] && (!first_ns || times[i] < first_ns))
			first_ns = times[i];
	return first_ns;
}

const struct protocol http2_protocol = {
	.input = http2_input,
	.reply = http2_reply,
	.output = http2_output,
	.ended = http2_ended,
	.drain = http2_drain,
	.check = http2_check,
	.free = http2_free,
};
