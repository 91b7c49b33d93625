// SPDX-License-Identifier: Apache-2.0
/*
 * http_server [OPTION=VALUE...]: the server by itself, for test/server.sh and peers. Prints the address it listens on,
 * then serves until standard input ends; then the counters that are not 0.
 *
 *	endpoint=localhost:0 unix=PATH cert=FILE key=FILE client_ca=FILE reload_ms=N min_version=1.3
 *	request_ms=N idle_ms=N age_ms=N grace_ms=N streams=N body_max=N
 *
 *	GET  /hello			"hello\n"
 *	*    /echo			the message of the request
 *	POST /count			its length
 *	GET  /big			8 MiB
 *	GET  /never			no reply until the server leaves
 *	gRPC /test.Echo/Say		the message
 *	gRPC /test.Echo/Fail		status 3, "no: 100 % wrong\n"
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "net/server.h"

#define BIG_BYTES ((size_t)8 << 20)
#define MESSAGE_MAX ((size_t)64 << 20)

static void reply_error(struct exchange *exchange, int error)
{
	const char *type = exchange_header(exchange, "content-type");

	if (type && !strncmp(type, "application/grpc", 16))
		exchange_reply_grpc(exchange, error == -EOPNOTSUPP ? 12 : 13, strerror(-error), NULL, 0, NULL);
	else
		exchange_reply(exchange, error == -EOPNOTSUPP ? 415 : error == -E2BIG ? 413 : 400, NULL, NULL, 0,
			       NULL);
}

static void hello(void *arg, struct exchange *exchange)
{
	struct buf body;

	buf_init(&body, 100);
	buf_addf(&body, "hello\n");
	exchange_reply(exchange, 200, "text/plain", NULL, 0, &body);
}

static void echo(void *arg, struct exchange *exchange)
{
	const struct http_header header = { "x-query", exchange_query(exchange) };
	struct buf message;
	int r;

	buf_init(&message, MESSAGE_MAX);
	r = exchange_message(exchange, &message);
	if (r < 0) {
		buf_done(&message);
		reply_error(exchange, r);
		return;
	}
	exchange_reply(exchange, 200, exchange_header(exchange, "content-type"), &header, 1, &message);
}

static void count_bytes(void *arg, struct exchange *exchange)
{
	struct buf message, body;
	int r;

	buf_init(&message, MESSAGE_MAX);
	buf_init(&body, 100);
	r = exchange_message(exchange, &message);
	buf_addf(&body, "%zu\n", message.len);
	buf_done(&message);
	if (r < 0) {
		buf_done(&body);
		reply_error(exchange, r);
		return;
	}
	exchange_reply(exchange, 200, "text/plain", NULL, 0, &body);
}

static void big(void *arg, struct exchange *exchange)
{
	struct buf body;

	buf_init(&body, BIG_BYTES);
	if (buf_reserve(&body, BIG_BYTES) == 0) {
		memset(body.data, 'x', BIG_BYTES);
		body.len = BIG_BYTES;
	}
	exchange_reply(exchange, 200, "text/plain", NULL, 0, &body);
}

/* It is answered in our place when we leave; then this process ends, and the exchange with it. */
static void never(void *arg, struct exchange *exchange)
{
	printf("never\n");
	fflush(stdout);
}

static void say(void *arg, struct exchange *exchange)
{
	struct buf message;
	int r;

	buf_init(&message, MESSAGE_MAX);
	r = exchange_message(exchange, &message);
	if (r < 0) {
		buf_done(&message);
		reply_error(exchange, r);
		return;
	}
	exchange_reply_grpc(exchange, 0, NULL, NULL, 0, &message);
}

static void fail(void *arg, struct exchange *exchange)
{
	exchange_reply_grpc(exchange, 3, "no: 100 % wrong\n", NULL, 0, NULL);
}

static int add_routes(struct listener *listener, size_t body_max)
{
	const struct route routes[] = {
		{ .method = "GET", .path = "/hello", .handle = hello },
		{ .path = "/echo", .body_max = body_max, .handle = echo },
		{ .method = "POST", .path = "/count", .body_max = body_max, .handle = count_bytes },
		{ .method = "GET", .path = "/big", .handle = big },
		{ .method = "GET", .path = "/never", .handle = never },
		{ .method = "POST", .path = "/test.Echo/Say", .grpc = true, .body_max = body_max, .handle = say },
		{ .method = "POST", .path = "/test.Echo/Fail", .grpc = true, .body_max = body_max, .handle = fail },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(routes) / sizeof(*routes); i++)
		r = listener_route(listener, &routes[i]);
	return r;
}

static void note(void *arg, const char *sentence)
{
	fprintf(stderr, "%s\n", sentence);
}

struct options {
	struct listen_options listen;
	struct tls_server_options tls;
	size_t body_max;
};

static bool take(const char *text, const char *key, const char **ret_value)
{
	size_t len = strlen(key);

	if (strncmp(text, key, len) || text[len] != '=')
		return false;
	*ret_value = text + len + 1;
	return true;
}

static int parse_option(const char *text, struct options *options)
{
	const struct { const char *key; s64 *ns; } times[] = {
		{ "reload_ms", &options->tls.reload_interval_ns },
		{ "request_ms", &options->listen.request_timeout_ns },
		{ "idle_ms", &options->listen.idle_timeout_ns }, { "age_ms", &options->listen.connection_age_max_ns },
		{ "grace_ms", &options->listen.connection_age_grace_ns },
		{ "ping_ms", &options->listen.ping_interval_ns },
		{ "ping_timeout_ms", &options->listen.ping_timeout_ns },
	};
	const struct { const char *key; const char **text; } texts[] = {
		{ "endpoint", &options->listen.endpoint }, { "unix", &options->listen.endpoint },
		{ "cert", &options->tls.cert_file }, { "key", &options->tls.key_file },
		{ "client_ca", &options->tls.client_ca_file }, { "min_version", &options->tls.min_version },
		{ "max_version", &options->tls.max_version },
	};
	const char *value;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (take(text, times[i].key, &value)) {
			*times[i].ns = strtoll(value, NULL, 10) * 1000000;
			return 0;
		}
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (take(text, texts[i].key, &value)) {
			*texts[i].text = value;
			options->listen.unix_socket |= !strcmp(texts[i].key, "unix");
			return 0;
		}
	if (take(text, "streams", &value))
		options->listen.streams_max = (u32)strtoul(value, NULL, 10);
	else if (take(text, "body_max", &value))
		options->body_max = strtoul(value, NULL, 10);
	else
		return -EINVAL;
	return 0;
}

static void print_counters(struct metrics *metrics)
{
	struct buf out;
	char *line, *save = NULL;

	buf_init(&out, 1 << 20);
	metrics_render(metrics, &out);
	buf_add(&out, "", 1);
	for (line = strtok_r(out.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (line[0] != '#' && strcmp(line + strlen(line) - 2, " 0"))
			printf("%s\n", line);
	buf_done(&out);
}

static int serve(const struct options *options)
{
	_cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
	_cleanup_(server_freep) struct server *server = NULL;
	struct listener *listener;
	struct buf why;
	int r;

	buf_init(&why, 4096);
	r = server_new(metrics, &server);
	if (r == 0) {
		server_set_hooks(server, &(struct server_hooks){ .notice = note });
		r = server_listen(server, &options->listen, &listener, &why);
	}
	if (r == 0)
		r = add_routes(listener, options->body_max);
	if (r < 0) {
		fprintf(stderr, "http_server: %s\n", why.len ? why.data : strerror(-r));
		buf_done(&why);
		return 1;
	}
	printf("%s\n", listener_address(listener));
	fflush(stdout);
	while (getchar() != EOF)
		;
	listener_leave(listener, NULL, monotonic_ns() + 200000000);
	print_counters(metrics);
	buf_done(&why);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = { .listen.endpoint = "localhost:0", .body_max = (size_t)4 << 20 };

	for (int i = 1; i < argc; i++)
		if (parse_option(argv[i], &options) < 0) {
			fprintf(stderr, "http_server: what is %s?\n", argv[i]);
			return 2;
		}
	if (options.tls.cert_file)
		options.listen.tls = &options.tls;
	return serve(&options);
}
