/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send grpc|http PORT CLIENTS[/EVERY] SECONDS none|gzip FILE...: so many connections,
 * each with one request under way at a time, taken in turns from the files. With EVERY, a client sends once in so
 * many seconds, a tenth more or less, as an agent does: all of them have connected before the first one sends.
 * Prints `FILE ACCEPTED` for each file, then `refused N`; a request that is refused (UNAVAILABLE, 503)
 * is sent again a little later.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "peer.h"

#define FILES_MAX 16
#define PATH "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define AGAIN_NS 2000000

static struct file {
	const char *name;
	unsigned char *at;		/* with the five bytes of gRPC in front */
	size_t bytes;
	atomic_ullong accepted;
} files[FILES_MAX];

#define CLIENTS_MAX 2000

static unsigned file_count, port, seconds, every;
static bool gzip;
static atomic_ullong refused, turn;

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static atomic_ullong ends_ns;
static pthread_barrier_t all_connected;

/* When a client sends next: at first anywhere within its interval. False when the time is over. */
static bool wait_turn(unsigned *seed, unsigned long long *due_ns)
{
	const unsigned long long interval_ns = every * 1000000000ull;
	unsigned long long part = (unsigned long long)rand_r(seed) % 1000;

	if (every && !*due_ns)
		*due_ns = now_ns() + interval_ns * part / 1000;
	else if (every)
		*due_ns += interval_ns * (900 + part / 5) / 1000;
	while (now_ns() < *due_ns && now_ns() < ends_ns) {
		unsigned long long left_ns = *due_ns - now_ns();

		nanosleep(&(struct timespec){ .tv_nsec = left_ns < 100000000 ? (long)left_ns : 100000000 }, NULL);
	}
	return now_ns() < ends_ns;
}

static void load(struct file *file, const char *path)
{
	FILE *stream = fopen(path, "rb");
	static unsigned char raw[64 << 20];
	size_t bytes = stream ? fread(raw, 1, sizeof(raw), stream) : 0;
	z_stream z = { 0 };

	if (!bytes)
		peer_die("%s: cannot be read", path);
	fclose(stream);
	file->name = path;
	file->at = malloc(bytes + 1024);
	file->bytes = bytes;
	if (!gzip) {
		memcpy(file->at + 5, raw, bytes);
	} else {
		deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
		z.next_in = raw;
		z.avail_in = (unsigned)bytes;
		z.next_out = file->at + 5;
		z.avail_out = (unsigned)bytes + 1019;
		if (deflate(&z, Z_FINISH) != Z_STREAM_END)
			peer_die("%s: does not compress", path);
		file->bytes = z.total_out;
		deflateEnd(&z);
	}
	file->at[0] = gzip;
	memcpy(file->at + 1, &(unsigned){ htonl((unsigned)file->bytes) }, 4);
}

static int dial(void)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	there.sin_port = htons((unsigned short)port);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&there, sizeof(there)))
		peer_die("nobody listens at port %u", port);
	return fd;
}

static struct file *next_file(void)
{
	return &files[atomic_fetch_add(&turn, 1) % file_count];
}

static void wait_a_little(void)
{
	atomic_fetch_add(&refused, 1);
	nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
}

/* ---- HTTP/1.1 -------------------------------------------------------------------- */

/* The status of one request. */
static int exchange(int fd, const struct file *file)
{
	char text[8192];
	size_t filled = 0, head;
	long body;

	filled = (size_t)snprintf(text, sizeof(text),
				  "POST /v1development/profiles HTTP/1.1\r\nhost: localhost\r\n"
				  "content-type: application/x-protobuf\r\n%scontent-length: %zu\r\n\r\n",
				  gzip ? "content-encoding: gzip\r\n" : "", file->bytes);
	peer_send(fd, text, filled);
	peer_send(fd, file->at + 5, file->bytes);
	for (filled = 0; !(head = peer_header_bytes(text, filled));) {
		size_t n = peer_receive(fd, text + filled, sizeof(text) - 1 - filled);

		if (!n)
			peer_die("the relay closed the connection");
		filled += n;
	}
	text[head - 1] = '\0';
	for (body = peer_header_number(text, "content-length"); (long)(filled - head) < body;)
		filled += peer_receive(fd, text + head, sizeof(text) - head);
	return atoi(text + 9);
}

static void *client_http(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;
	unsigned long long due_ns = 0;
	int fd = dial();

	pthread_barrier_wait(&all_connected);
	while (wait_turn(&seed, &due_ns)) {
		struct file *file = next_file();
		int status;

		while ((status = exchange(fd, file)) == 503 || status == 429)
			wait_a_little();
		if (status != 200)
			peer_die("the relay answered %d", status);
		atomic_fetch_add(&file->accepted, 1);
	}
	close(fd);
	return NULL;
}

/* ---- gRPC -------------------------------------------------------------------------- */

struct call {
	struct file *file;
	size_t sent;
	int status;		/* -1: not there yet */
	bool done;
};

static ssize_t read_body(nghttp2_session *session, int id, unsigned char *at, size_t max, unsigned *flags,
			 nghttp2_data_source *source, void *user)
{
	struct call *call = user;
	size_t left = call->file->bytes + 5 - call->sent, n = left < max ? left : max;

	memcpy(at, call->file->at + call->sent, n);
	call->sent += n;
	if (n == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static int receive_header(nghttp2_session *session, const nghttp2_frame *frame, const unsigned char *name,
			  size_t length, const unsigned char *value, size_t value_length, unsigned char flags,
			  void *user)
{
	struct call *call = user;

	if (length == 11 && !memcmp(name, "grpc-status", 11))
		call->status = atoi((const char *)value);
	return 0;
}

static int close_stream(nghttp2_session *session, int id, unsigned error, void *user)
{
	((struct call *)user)->done = true;
	return 0;
}

static int call_once(nghttp2_session *session, int fd, struct call *call, char *buffer, size_t max)
{
	static const nghttp2_nv headers[] = {
		PEER_HEADER(":method", "POST"), PEER_HEADER(":scheme", "http"), PEER_HEADER(":path", PATH),
		PEER_HEADER(":authority", "localhost"), PEER_HEADER("te", "trailers"),
		PEER_HEADER("content-type", "application/grpc"), PEER_HEADER("grpc-encoding", "gzip"),
	};
	const nghttp2_data_provider body = { .read_callback = read_body };

	call->sent = 0;
	call->done = false;
	call->status = -1;
	if (nghttp2_submit_request(session, NULL, headers, gzip ? 7 : 6, &body, NULL) < 0)
		peer_die("HTTP/2 request");
	while (!call->done)
		if (!peer_turn_session(session, fd, buffer, max))
			peer_die("the relay closed the connection");
	return call->status;
}

static void *client_grpc(void *arg)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;
	struct call call = { 0 };
	unsigned seed = (unsigned)(size_t)arg;
	unsigned long long due_ns = 0;
	char *buffer = malloc(65536);
	int fd = dial(), status;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, receive_header);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_stream);
	if (nghttp2_session_client_new(&session, callbacks, &call))
		peer_die("nghttp2");
	peer_begin_session(session);
	pthread_barrier_wait(&all_connected);
	while (wait_turn(&seed, &due_ns)) {
		call.file = next_file();
		while ((status = call_once(session, fd, &call, buffer, 65536)) == 14 || status == 8)
			wait_a_little();
		if (status)
			peer_die("the relay answered with status %d", status);
		atomic_fetch_add(&call.file->accepted, 1);
	}
	nghttp2_session_del(session);
	nghttp2_session_callbacks_del(callbacks);
	free(buffer);
	close(fd);
	return NULL;
}

/* Small stacks: there may be a thousand of them. */
static void run_clients(unsigned clients, void *(*client)(void *))
{
	static pthread_t threads[CLIENTS_MAX];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	pthread_barrier_init(&all_connected, NULL, clients + 1);
	for (unsigned i = 0; i < clients; i++)
		if (pthread_create(&threads[i], &attributes, client, (void *)(size_t)(i + 1)))
			peer_die("thread");
	ends_ns = ~0ull;
	pthread_barrier_wait(&all_connected);
	ends_ns = now_ns() + seconds * 1000000000ull;
	for (unsigned i = 0; i < clients; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *slash;
	unsigned clients;

	if (argc < 7 || argc - 6 > FILES_MAX)
		peer_die("usage: send grpc|http PORT CLIENTS[/EVERY] SECONDS none|gzip FILE...");
	port = (unsigned)atoi(argv[2]);
	clients = (unsigned)atoi(argv[3]);
	slash = strchr(argv[3], '/');
	every = slash ? (unsigned)atoi(slash + 1) : 0;
	seconds = (unsigned)atoi(argv[4]);
	gzip = !strcmp(argv[5], "gzip");
	if (!clients || clients > CLIENTS_MAX)
		peer_die("at most %d clients", CLIENTS_MAX);
	for (file_count = 0; (int)file_count < argc - 6; file_count++)
		load(&files[file_count], argv[6 + file_count]);
	run_clients(clients, strcmp(argv[1], "grpc") ? client_http : client_grpc);
	for (unsigned i = 0; i < file_count; i++)
		printf("%s %llu\n", files[i].name, atomic_load(&files[i].accepted));
	printf("refused %llu\n", atomic_load(&refused));
	return 0;
}
