/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink PORT: takes OTLP profiles by HTTP/1.1 and by gRPC without TLS on the
 * same port, and says at once that all is well. Each line on stdin is
 * answered by `REQUESTS BYTES SAMPLES`: samples are counted by their timestamps, in what
 * comes without compression.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

#define BUFFER (1 << 20)

static atomic_ullong requests, bytes_in, samples_in;

/* ---- Counting ------------------------------------------------------------------ */

struct reader {
	const unsigned char *at, *end;
};

static unsigned long long varint(struct reader *r)
{
	unsigned long long value = 0;

	for (int shift = 0; r->at < r->end && shift < 64; shift += 7) {
		unsigned char byte = *r->at++;

		value |= (unsigned long long)(byte & 127) << shift;
		if (byte < 128)
			break;
	}
	return value;
}

/* The next field; its content if it has a length. 0 at the end. */
static unsigned next_field(struct reader *r, struct reader *content)
{
	unsigned long long tag, length = 0;

	if (r->at >= r->end)
		return 0;
	tag = varint(r);
	*content = (struct reader){ r->at, r->at };
	switch (tag & 7) {
	case 0:
		varint(r);
		return (unsigned)tag >> 3;
	case 1:
		length = 8;
		break;
	case 2:
		length = varint(r);
		break;
	case 5:
		length = 4;
	}
	if (length > (unsigned long long)(r->end - r->at))
		peer_die("broken protobuf arrived");
	*content = (struct reader){ r->at, r->at + length };
	r->at += length;
	return (unsigned)tag >> 3;
}

/* resource_profiles, scope_profiles, profiles, samples, timestamps_unix_nano */
static void count_samples(struct reader message)
{
	static const unsigned path[] = { 1, 2, 2, 2, 5 };
	struct reader at[6] = { message };
	int depth = 0;

	while (depth >= 0) {
		unsigned field = next_field(&at[depth], &at[depth + 1]);

		if (!field)
			depth--;
		else if (field == path[depth] && depth == 4)
			atomic_fetch_add(&samples_in, (unsigned long long)(at[5].end - at[5].at) / 8);
		else if (field == path[depth])
			depth++;
	}
}

static void take(const unsigned char *at, size_t bytes, bool compressed)
{
	atomic_fetch_add(&bytes_in, bytes);
	if (!compressed)
		count_samples((struct reader){ at, at + bytes });
	atomic_fetch_add(&requests, 1);
}

/* ---- HTTP/1.1 -------------------------------------------------------------------- */

static void serve_http1(int fd, char *buffer, size_t filled)
{
	static const char answer[] =
		"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	size_t size = BUFFER;

	for (;;) {
		size_t head, body, n;
		bool compressed;

		while (!(head = peer_header_bytes(buffer, filled))) {
			n = peer_receive(fd, buffer + filled, size - 1 - filled);
			if (!n)
				return free(buffer);
			filled += n;
		}
		buffer[head - 1] = '\0';
		compressed = peer_header_number(buffer, "content-encoding") >= 0;
		if (peer_header_number(buffer, "expect") >= 0)
			peer_send(fd, go_on, sizeof(go_on) - 1);
		body = (size_t)peer_header_number(buffer, "content-length");
		if (body > 1u << 30)
			peer_die("a request without content-length");
		if (head + body + 1 > size)
			buffer = realloc(buffer, size = head + body + 1);
		while (filled < head + body && (n = peer_receive(fd, buffer + filled, head + body - filled)))
			filled += n;
		if (filled < head + body)
			return free(buffer);
		take((unsigned char *)buffer + head, body, compressed);
		peer_send(fd, answer, sizeof(answer) - 1);
		filled = 0;
	}
}

/* ---- gRPC ------------------------------------------------------------------------- */

struct stream {
	unsigned char *at;
	size_t bytes, size, answered;
};

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
}

static int receive_data(nghttp2_session *session, unsigned char flags, int id, const unsigned char *data, size_t bytes,
			void *user)
{
	struct stream *stream = nghttp2_session_get_stream_user_data(session, id);

	if (stream->bytes + bytes > stream->size)
		stream->at = realloc(stream->at, stream->size = 2 * stream->size + bytes);
	memcpy(stream->at + stream->bytes, data, bytes);
	stream->bytes += bytes;
	return 0;
}

/* An empty message, then the status. */
static ssize_t answer_data(nghttp2_session *session, int id, unsigned char *at, size_t max, unsigned *flags,
			   nghttp2_data_source *source, void *user)
{
	static const nghttp2_nv trailer = PEER_HEADER("grpc-status", "0");

	memset(at, 0, 5);
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	nghttp2_submit_trailer(session, id, &trailer, 1);
	return 5;
}

static int receive_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	static const nghttp2_nv headers[] = {
		PEER_HEADER(":status", "200"), PEER_HEADER("content-type", "application/grpc"),
	};
	const nghttp2_data_provider body = { .read_callback = answer_data };
	struct stream *stream;

	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!stream || stream->bytes < 5)
		return 0;
	take(stream->at + 5, stream->bytes - 5, stream->at[0]);
	return nghttp2_submit_response(session, frame->hd.stream_id, headers, 2, &body);
}

static int close_stream(nghttp2_session *session, int id, unsigned error, void *user)
{
	struct stream *stream = nghttp2_session_get_stream_user_data(session, id);

	if (stream)
		free(stream->at);
	free(stream);
	return 0;
}

/*
 * libcurl before 8.1 resets every stream once it is closed. nghttp2 would end the connection after 1000 of
 * them, which Go's servers, those of most backends, do not.
 */
void nghttp2_option_set_stream_reset_rate_limit(nghttp2_option *option, uint64_t burst, uint64_t rate)
	__attribute__((weak));

static void serve_http2(int fd, char *buffer, size_t filled)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;
	nghttp2_option *option;

	nghttp2_option_new(&option);
	if (nghttp2_option_set_stream_reset_rate_limit)
		nghttp2_option_set_stream_reset_rate_limit(option, 1u << 30, 1u << 30);
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receive_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receive_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_stream);
	if (nghttp2_session_server_new2(&session, callbacks, NULL, option))
		peer_die("nghttp2");
	peer_begin_session(session);
	if (nghttp2_session_mem_recv(session, (unsigned char *)buffer, filled) < 0)
		peer_die("HTTP/2 preface");
	while (peer_turn_session(session, fd, buffer, BUFFER))
		;
	nghttp2_session_del(session);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	free(buffer);
}

/* ---- Connections ------------------------------------------------------------------- */

static void *serve(void *arg)
{
	int fd = (int)(long)arg, on = 1;
	char *buffer = malloc(BUFFER);
	size_t n = peer_receive(fd, buffer, BUFFER - 1);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (n >= 3 && !memcmp(buffer, "PRI", 3))
		serve_http2(fd, buffer, n);
	else
		serve_http1(fd, buffer, n);
	close(fd);
	return NULL;
}

static void *report(void *arg)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		printf("%llu %llu %llu\n", atomic_load(&requests), atomic_load(&bytes_in), atomic_load(&samples_in));
		fflush(stdout);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	pthread_t thread;

	if (argc != 2)
		peer_die("usage: sink PORT");
	here.sin_port = htons((unsigned short)atoi(argv[1]));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) || listen(fd, 64))
		peer_die("port %s is taken", argv[1]);
	pthread_create(&thread, NULL, report, NULL);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (client >= 0 && !pthread_create(&thread, NULL, serve, (void *)(long)client))
			pthread_detach(thread);
	}
}
