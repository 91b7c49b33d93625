// SPDX-License-Identifier: Apache-2.0
/* The server's HTTP/2 and gRPC, spoken to by a client session of nghttp2. */
#include <nghttp2/nghttp2.h>
#include <pthread.h>

#include "base/lock.h"
#include "base/sender_time.h"
#include "net/server_test.h"

#define STREAMS 64

/* ---- A client ------------------------------------------------------------------------------ */

struct stream {
	int status, grpc_status;
	char message[300], body[4000];
	size_t body_len;
	bool closed;
	u32 error_code;
	const char *send;
	size_t send_bytes;
	bool hold_back;			/* does not end its body */
};

struct client {
	int fd;
	nghttp2_session *session;
	struct stream streams[STREAMS];	/* by id / 2; what comes after those is not looked at */
	struct stream other;
	u32 closed_count;
	s64 goaway_code;		/* -1: none */
	s32 goaway_last;
	u32 streams_max;
};

static struct stream *stream_of(struct client *client, s32 id)
{
	return id / 2 < STREAMS ? &client->streams[id / 2] : &client->other;
}

static int got_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		      const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
	struct client *client = arg;
	struct stream *stream = stream_of(client, frame->hd.stream_id);
	const char *key = (const char *)name, *text = (const char *)value;

	if (!strcmp(key, ":status"))
		stream->status = (int)strtol(text, NULL, 10);
	else if (!strcmp(key, "grpc-status"))
		stream->grpc_status = (int)strtol(text, NULL, 10);
	else if (!strcmp(key, "grpc-message"))
		snprintf(stream->message, sizeof(stream->message), "%s", text);
	return 0;
}

static int got_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *at, size_t bytes, void *arg)
{
	struct stream *stream = stream_of(arg, id);

	if (stream->body_len + bytes <= sizeof(stream->body))
		memcpy(stream->body + stream->body_len, at, bytes);
	stream->body_len += bytes;
	return 0;
}

static int got_close(nghttp2_session *session, int32_t id, uint32_t error_code, void *arg)
{
	struct client *client = arg;

	stream_of(client, id)->closed = true;
	stream_of(client, id)->error_code = error_code;
	client->closed_count++;
	return 0;
}

static int got_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct client *client = arg;

	if (frame->hd.type == NGHTTP2_GOAWAY) {
		client->goaway_code = frame->goaway.error_code;
		client->goaway_last = frame->goaway.last_stream_id;
	}
	if (frame->hd.type == NGHTTP2_SETTINGS)
		client->streams_max = nghttp2_session_get_remote_settings(session,
									  NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	return 0;
}

static struct client *client_of(int fd)
{
	struct client *client = calloc(1, sizeof(*client));
	nghttp2_session_callbacks *callbacks;

	OK(client);
	client->fd = fd;
	client->goaway_code = -1;
	for (int i = 0; i < STREAMS; i++)
		client->streams[i].grpc_status = -1;
	EQ(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, got_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, got_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, got_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, got_frame);
	EQ(nghttp2_session_client_new(&client->session, callbacks, client), 0);
	nghttp2_session_callbacks_del(callbacks);
	EQ(nghttp2_submit_settings(client->session, NGHTTP2_FLAG_NONE, NULL, 0), 0);
	return client;
}

static void hang_up(struct client *client)
{
	nghttp2_session_del(client->session);
	close(client->fd);
	free(client);
}

static void flush(struct client *client)
{
	const uint8_t *at;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(client->session, &at)) > 0)
		say_bytes(client->fd, at, (size_t)n);
}

/* One exchange of bytes; false at the end of the connection. */
static bool step(struct client *client)
{
	static uint8_t bytes[1 << 16];
	size_t n;

	flush(client);
	n = hear_bytes(client->fd, bytes, sizeof(bytes));
	if (n)
		EQ(nghttp2_session_mem_recv(client->session, bytes, n), n);
	return n;
}

static ssize_t give_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t bytes, uint32_t *flags,
			 nghttp2_data_source *source, void *arg)
{
	struct stream *stream = source->ptr;
	size_t taken = stream->send_bytes < bytes ? stream->send_bytes : bytes;

	if (!taken && stream->hold_back)
		return NGHTTP2_ERR_DEFERRED;
	memcpy(to, stream->send, taken);
	stream->send += taken;
	stream->send_bytes -= taken;
	if (!stream->send_bytes && !stream->hold_back)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)taken;
}

#define NV(name, value) { (uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE }

static struct stream *call(struct client *client, const char *path, const char *type, const char *body, size_t bytes,
			   bool hold_back)
{
	nghttp2_nv headers[] = { NV(":path", path), NV(":method", "POST"), NV(":scheme", "http"),
				 NV(":authority", "localhost"), NV("content-type", type), NV("te", "trailers") };
	s32 id = (s32)nghttp2_session_get_next_stream_id(client->session);
	struct stream *stream = stream_of(client, id);
	nghttp2_data_provider provider = { .source.ptr = stream, .read_callback = give_body };

	stream->send = body;
	stream->send_bytes = bytes;
	stream->hold_back = hold_back;
	EQ(nghttp2_submit_request(client->session, NULL, headers, sizeof(headers) / sizeof(*headers), &provider, NULL),
	   id);
	flush(client);
	return stream;
}

static struct stream *call_grpc(struct client *client, const char *path, const char *message, size_t bytes)
{
	return call(client, path, "application/grpc", message, bytes, false);
}

static void wait_closed(struct client *client, u32 count)
{
	while (client->closed_count < count)
		if (!step(client))
			FAIL("the connection ended");
}

/* ---- Handlers --------------------------------------------------------------------------------- */

static void echo(void *arg, struct exchange *exchange)
{
	struct buf message;
	int r;

	buf_init(&message, 10 << 20);
	r = exchange_message(exchange, &message);
	if (r == 0) {
		exchange_reply_grpc(exchange, 0, NULL, NULL, 0, &message);
		return;
	}
	buf_done(&message);
	exchange_reply_grpc(exchange, r == -EOPNOTSUPP ? 12 : 13, strerror(-r), NULL, 0, NULL);
}

/* Exchanges that are kept, until as many have come as are waited for. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t came;
	struct exchange *at[STREAMS];
	u32 count;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };

static void keep(void *arg, struct exchange *exchange)
{
	LOCKED(&kept.lock);
	kept.at[kept.count++] = exchange;
	pthread_cond_signal(&kept.came);
}

static void wait_kept(u32 count)
{
	LOCKED(&kept.lock);
	while (kept.count < count)
		pthread_cond_wait(&kept.came, &kept.lock);
}

static void add_grpc(struct listener *listener, const char *path, size_t body_max,
		     void (*handle)(void *arg, struct exchange *exchange))
{
	const struct route route = { .method = "POST", .path = path, .grpc = true, .body_max = body_max,
				     .handle = handle };

	EQ(listener_route(listener, &route), 0);
}

/* ---- gRPC --------------------------------------------------------------------------------------- */

/* Retryable by OTLP's rules, and one after the other. */
TEST(http2_tells_who_has_sent_too_much_to_come_later)
{
	static const struct sender_time_limit tiny = { 1e-9, SECOND_NS };
	const struct route route = { .path = "/a.B/Sent", .grpc = true, .yields = true, .body_max = 1000,
				     .handle = echo };
	struct stream *first, *second;
	struct listener *listener;
	struct client *client;

	sender_time_set(&tiny, &tiny, 1);
	serve();
	listener = listen_any();
	EQ(listener_route(listener, &route), 0);
	client = client_of(dial(listener));
	first = call_grpc(client, "/a.B/Sent", "\0\0\0\0\5hello", 10);
	wait_closed(client, 1);
	EQ(first->grpc_status, 0);
	first = call_grpc(client, "/a.B/Sent", "\0\0\0\0\5hello", 10);
	second = call_grpc(client, "/a.B/Sent", "\0\0\0\0\5hello", 10);
	wait_closed(client, 3);
	EQ(first->grpc_status, 14);
	EQ(second->grpc_status, 14);
	OK(strstr(second->message, "raise --max-cpu"));
	(void)call_grpc(client, "/a.B/Sent", "\0\0\0\0\5hello", 10);	/* held when the server ends */
	hang_up(client);
	listener_leave(listener, NULL, monotonic_ns());
	end();
	sender_time_reset();
}

TEST(http2_serves_grpc)
{
	struct listener *listener;
	struct client *client;
	struct stream *stream;

	serve();
	listener = listen_any();
	add_grpc(listener, "/a.B/Echo", 1000, echo);
	client = client_of(dial(listener));
	stream = call_grpc(client, "/a.B/Echo", "\0\0\0\0\5hello", 10);
	wait_closed(client, 1);
	EQ(stream->status, 200);
	EQ(stream->grpc_status, 0);
	EQ(stream->body_len, 10);
	OK(!memcmp(stream->body, "\0\0\0\0\5hello", 10));
	stream = call_grpc(client, "/a.B/Echo", "\0\0\0\0\0", 5);
	wait_closed(client, 2);
	EQ(stream->grpc_status, 0);
	EQ(stream->body_len, 5);
	hang_up(client);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(http2_answers_bad_calls_with_a_status)
{
	static const struct { const char *path, *body; size_t bytes; int status; const char *message; } bad[] = {
		{ "/a.B/Other", "\0\0\0\0\1x", 6, 12, "unknown method Other for service a.B" },
		{ "/a.B/Echo", "", 0, 13, "Bad message" },
		{ "/a.B/Echo", "\0\0\0", 3, 13, "Bad message" },
		{ "/a.B/Echo", "\0\0\0\0\5hell", 9, 13, "Bad message" },
		{ "/a.B/Echo", "\0\0\0\0\1xy", 7, 13, "Bad message" },
		{ "/a.B/Echo", "\1\0\0\0\1x", 6, 13, "Bad message" },
		{ "/a.B/Echo", "\2\0\0\0\1x", 6, 13, "Bad message" },
		{ "/a.B/Echo", "\0\377\377\377\377x", 6, 8,
		  "the request is larger than the 1000 bytes that are allowed here" },
	};
	struct listener *listener;
	struct client *client;

	serve();
	listener = listen_any();
	add_grpc(listener, "/a.B/Echo", 1000, echo);
	client = client_of(dial(listener));
	for (u32 i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct stream *stream = call_grpc(client, bad[i].path, bad[i].body, bad[i].bytes);

		wait_closed(client, i + 1);
		EQ(stream->status, 200);
		EQ(stream->grpc_status, bad[i].status);
		STREQ(stream->message, bad[i].message);
		EQ(stream->error_code, 0);
	}
	EQ(counted("wick_server_refused_total", "reason", "body_too_large"), 1);
	hang_up(client);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

/* ---- Flow control and many streams ------------------------------------------------------------------ */

TEST(http2_takes_more_than_its_windows)
{
	const u32 bytes = 9 << 20;
	struct listener *listener;
	struct client *client;
	struct stream *stream;
	char *body = malloc(bytes);

	OK(body);
	memset(body, 'x', bytes);
	memcpy(body, (u8[]){ 0, 0, (bytes - 5) >> 16, (bytes - 5) >> 8 & 255, (bytes - 5) & 255 }, 5);
	serve();
	listener = listen_any();
	add_grpc(listener, "/a.B/Echo", 10 << 20, echo);
	client = client_of(dial(listener));
	EQ(nghttp2_session_set_local_window_size(client->session, 0, 0, 64 << 20), 0);
	stream = call_grpc(client, "/a.B/Echo", body, bytes);
	wait_closed(client, 1);
	EQ(stream->grpc_status, 0);
	EQ(stream->body_len, bytes);
	hang_up(client);
	listener_leave(listener, NULL, monotonic_ns());
	end();
	free(body);
}

TEST(http2_answers_streams_in_any_order)
{
	struct listener *listener;
	struct client *client;

	serve();
	listener = listen_any();
	add_grpc(listener, "/a.B/Keep", 1000, keep);
	client = client_of(dial(listener));
	for (int i = 0; i < 20; i++)
		call_grpc(client, "/a.B/Keep", "\0\0\0\0\0", 5);
	wait_kept(20);
	for (u32 i = 20; i-- > 0;) {
		exchange_reply_grpc(kept.at[i], (int)i % 17, NULL, NULL, 0, NULL);
		wait_closed(client, 20 - i);
	}
	for (int i = 0; i < 20; i++)
		OK(client->streams[i].grpc_status >= 0);
	hang_up(client);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(http2_limits_streams)
{
	struct listener *listener;
	struct client *client;

	serve();
	listener = listen_on(&(struct listen_options){ .endpoint = "127.0.0.1:0", .streams_max = 3 });
	add_grpc(listener, "/a.B/Keep", 1000, keep);
	client = client_of(dial(listener));
	for (int i = 0; i < 5; i++)
		call_grpc(client, "/a.B/Keep", "\0\0\0\0\0", 5);
	/* The first five came before the limit was told. */
	while (client->closed_count < 2)
		OK(step(client));
	EQ(client->streams_max, 3);
	EQ(client->streams[3].error_code, NGHTTP2_REFUSED_STREAM);
	EQ(client->streams[4].error_code, NGHTTP2_REFUSED_STREAM);
	wait_kept(3);
	for (int i = 0; i < 3; i++)
		exchange_reply_grpc(kept.at[i], 0, NULL, NULL, 0, NULL);
	wait_closed(client, 5);
	hang_up(client);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

TEST(http2_peer_may_go_while_its_request_is_held)
{
	struct listener *listener;
	struct client *client;

	serve();
	listener = listen_any();
	add_grpc(listener, "/a.B/Keep", 1000, keep);
	client = client_of(dial(listener));
	call_grpc(client, "/a.B/Keep", "\0\0\0\0\0", 5);
	call_grpc(client, "/a.B/Keep", "\0\0\0\0\0", 5);
	wait_kept(2);
	EQ(nghttp2_submit_rst_stream(client->session, 0, 1, NGHTTP2_CANCEL), 0);
	flush(client);
	exchange_reply_grpc(kept.at[0], 0, NULL, NULL, 0, NULL);
	hang_up(client);
	exchange_reply_grpc(kept.at[1], 0, NULL, NULL, 0, NULL);
	listener_leave(listener, NULL, monotonic_ns() + 10000000000ull);
	end();
}

TEST(http2_resets_that_are_too_many_end_the_connection)
{
	struct listener *listener;
	struct client *client;

	serve();
	listener = listen_any();
	add_grpc(listener, "/a.B/Echo", 1000, echo);
	client = client_of(dial(listener));
	for (int i = 0; i < 250; i++) {
		call(client, "/a.B/Echo", "application/grpc", "", 0, true);
		EQ(nghttp2_submit_rst_stream(client->session, 0, 2 * i + 1, NGHTTP2_CANCEL), 0);
		flush(client);
	}
	while (step(client))
		;
	EQ(client->goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
	EQ(counted("wick_server_closed_total", "reason", "too_many_resets"), 1);
	hang_up(client);
	listener_leave(listener, NULL, monotonic_ns());
	end();
}

/* ---- The end ------------------------------------------------------------------------------------------ */

TEST(http2_drains)
{
	struct listener *listener;
	struct client *client;

	serve();
	listener = listen_any();
	add_grpc(listener, "/a.B/Keep", 1000, keep);
	client = client_of(dial(listener));
	call_grpc(client, "/a.B/Keep", "\0\0\0\0\0", 5);
	call(client, "/a.B/Keep", "application/grpc", "\0\0\0\0\5", 5, true);
	wait_kept(1);
	listener_leave(listener, NULL, monotonic_ns());
	while (step(client))
		;
	EQ(client->streams[0].grpc_status, 14);
	EQ(client->streams[1].grpc_status, 14);
	STREQ(client->streams[0].message, "the server is shutting down");
	EQ(client->goaway_code, 0);
	EQ(client->goaway_last, 3);
	exchange_reply_grpc(kept.at[0], 0, NULL, NULL, 0, NULL);
	hang_up(client);
	end();
}
