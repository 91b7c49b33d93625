// SPDX-License-Identifier: Apache-2.0
/* The receiver over HTTP/1.1 on a socket file; test/receivers.py has foreign clients for the rest. */
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "net/server.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "receivers/otlp_options.h"
#include "store/scratch_test.h"
#include "store/shared.h"
#include "test.h"
#include "wire/otlp/otlp.h"

extern const struct component_ops receiver_otlp;

struct fixture {
	char path[64];
	struct metrics *metrics;
	struct server *server;
	struct service *service;
	struct consumer consumer;
	struct consumers consumers;
	struct component_setup setup;
	struct otlp_options options;
	void *self;
	int result;			/* what the pipeline says */
	struct buf request;		/* a whole one */
};

static int consume(void *self, struct batch *batch)
{
	struct fixture *f = self;

	batch_unref(batch);
	return f->result;
}

static void setup(struct fixture *f)
{
	static const char *const origins[] = { "*" };
	struct profile *p = profile_random(1, 0);
	struct buf why;

	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "/tmp/wick-otlp-test-%d", getpid());
	buf_init(&f->request, 1 << 20);
	EQ(otlp_encode(p, &f->request), 0);
	profile_free(p);
	buf_init(&why, 1024);
	f->metrics = metrics_new();
	EQ(server_new(f->metrics, &f->server), 0);
	f->service = service_new(&(struct service_host){ .server = f->server, .metrics = f->metrics });
	f->consumer = (struct consumer){ consume, f };
	f->consumers = (struct consumers){ &f->consumer, 1 };
	f->setup = (struct component_setup){ .id = "otlp", .next = &f->consumers, .service = f->service };
	f->options = otlp_defaults;
	f->options.protocols.has_http = true;
	f->options.protocols.http.endpoint = f->path;
	f->options.protocols.http.transport = 1;
	f->options.protocols.http.max_request_body_size = (s64)f->request.len;
	f->options.protocols.http.cors.allowed_origins = (struct config_texts){ 1, origins };
	EQ(receiver_otlp.create(&f->setup, &f->options, &f->self, &why), 0);
	if (receiver_otlp.start(f->self, &why) < 0)
		FAIL("%s", why.data);
	buf_done(&why);
}

static void teardown(struct fixture *f)
{
	receiver_otlp.stop(f->self, monotonic_ns() + 10000000000);
	receiver_otlp.free(f->self);
	service_free(f->service);
	server_free(f->server);
	metrics_free(f->metrics);
	buf_done(&f->request);
	unlink(f->path);
}

/* One request on a connection of its own; the answer's text, to be freed. */
static char *ask(const struct fixture *f, const char *method, const char *path, const char *headers, const void *body,
		 size_t len)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char *answer = calloc(1, 65536);
	struct buf b;
	size_t got = 0;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", f->path);
	EQ(connect(fd, (void *)&to, sizeof(to)), 0);
	buf_init(&b, 1 << 20);
	buf_addf(&b, "%s %s HTTP/1.1\r\nhost: [::1]\r\nconnection: close\r\n%scontent-length: %zu\r\n\r\n", method,
		 path, headers, len);
	if (len)
		buf_add(&b, body, len);
	EQ(send(fd, b.data, b.len, MSG_NOSIGNAL), (ssize_t)b.len);
	for (ssize_t r; got < 65535 && (r = read(fd, answer + got, 65535 - got)) > 0;)
		got += (size_t)r;
	close(fd);
	buf_done(&b);
	return answer;
}

static void expect(const struct fixture *f, const char *method, const char *path, const char *headers, const void *body,
		   size_t len, int status, const char *says)
{
	char *answer = ask(f, method, path, headers, body, len);

	if (strtol(answer + strlen("HTTP/1.1 "), NULL, 10) != status || !strstr(answer, says))
		FAIL("%s %s with %s: %s", method, path, headers, answer);
	free(answer);
}

#define PROTOBUF "content-type: application/x-protobuf\r\n"
#define JSON "content-type: application/json\r\n"
#define PROFILES "/v1development/profiles"
#define METRICS "/v1/metrics"

TEST(otlp_receiver_answers_each_request_with_the_right_status)
{
	struct fixture f;

	setup(&f);
	expect(&f, "POST", PROFILES, PROTOBUF, f.request.data, f.request.len, 200, "application/x-protobuf");
	expect(&f, "POST", PROFILES, PROTOBUF, NULL, 0, 200, "application/x-protobuf");
	expect(&f, "POST", PROFILES, JSON, "{}", 2, 200, "\r\n\r\n{}");
	expect(&f, "POST", PROFILES, "content-type: application/json; charset=utf-8\r\n", "{}", 2, 200, "{}");
	expect(&f, "POST", PROFILES, JSON, "{", 1, 400, "{\"code\":3,\"message\":\"not OTLP");
	expect(&f, "POST", PROFILES, PROTOBUF, "\x0a\xff", 2, 400, "not protobuf");
	expect(&f, "POST", PROFILES, "content-type: text/plain\r\n", "x", 1, 415, "unsupported media type");
	expect(&f, "GET", PROFILES, "", NULL, 0, 405, "allow: POST");
	expect(&f, "POST", "/v1/traces", PROTOBUF, NULL, 0, 404, "");
	expect(&f, "POST", PROFILES, PROTOBUF "content-encoding: br\r\n", "x", 1, 400, "encoding");
	expect(&f, "POST", PROFILES, PROTOBUF "content-encoding: gzip\r\n", "x", 1, 400, "unpacked");
	teardown(&f);
}

TEST(otlp_receiver_takes_metrics_if_there_is_a_store)
{
	_cleanup_(store_releasep) struct store *store = NULL;
	struct buf why, notice;
	struct fixture f;

	setup(&f);
	expect(&f, "POST", METRICS, PROTOBUF, NULL, 0, 404, "not taken here");
	buf_init(&why, 512);
	buf_init(&notice, 512);
	EQ(store_acquire(&(struct store_options){ scratch_directory(), .host = "here" }, &store, &why, &notice), 0);
	expect(&f, "POST", METRICS, PROTOBUF, NULL, 0, 200, "application/x-protobuf");
	expect(&f, "POST", METRICS, JSON, "{\"resourceMetrics\":[]}", 22, 200, "\r\n\r\n{}");
	expect(&f, "POST", METRICS, JSON, "{", 1, 400, "not OTLP metrics");
	expect(&f, "POST", METRICS, PROTOBUF, "\x0a\xff", 2, 400, "not OTLP metrics");
	expect(&f, "POST", METRICS, "content-type: text/plain\r\n", "x", 1, 415, "unsupported media type");
	expect(&f, "GET", METRICS, "", NULL, 0, 405, "allow: POST");
	expect(&f, "POST", METRICS, PROTOBUF "content-encoding: gzip\r\n", "x", 1, 400, "unpacked");
	buf_add(&f.request, "x", 1);
	expect(&f, "POST", METRICS, PROTOBUF, f.request.data, f.request.len, 413, "");
	buf_done(&why);
	buf_done(&notice);
	teardown(&f);
}

TEST(otlp_receiver_refuses_what_is_too_large)
{
	struct fixture f;

	setup(&f);
	buf_add(&f.request, "x", 1);
	expect(&f, "POST", PROFILES, PROTOBUF, f.request.data, f.request.len, 413, "");
	teardown(&f);
}

TEST(otlp_receiver_knows_one_development_version)
{
	static const struct {
		const char *headers;
		int status;
	} cases[] = {
		{ PROTOBUF "otlp-profiles-development-version: 1\r\n", 200 },
		{ PROTOBUF "otlp-profiles-development-version: 2\r\n", 400 },
		{ PROTOBUF "otlp-profiles-development-version: 01\r\n", 400 },
		{ PROTOBUF "otlp-profiles-development-version: 1,1\r\n", 400 },
		{ PROTOBUF "otlp-profiles-development-version: \r\n", 400 },
		{ PROTOBUF "otlp-profiles-development-version: 1\r\notlp-profiles-development-version: 1\r\n", 400 },
	};
	struct fixture f;

	setup(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect(&f, "POST", PROFILES, cases[i].headers, NULL, 0, cases[i].status, "");
	teardown(&f);
}

TEST(otlp_receiver_tells_senders_what_the_pipeline_says)
{
	struct fixture f;

	setup(&f);
	f.result = -EAGAIN;
	expect(&f, "POST", PROFILES, PROTOBUF, f.request.data, f.request.len, 503, "try again later");
	f.result = -EIO;
	expect(&f, "POST", PROFILES, PROTOBUF, f.request.data, f.request.len, 500, "the pipeline refused it");
	teardown(&f);
}

TEST(otlp_receiver_lets_pages_send)
{
	struct fixture f;

	setup(&f);
	expect(&f, "OPTIONS", PROFILES, "origin: https://a\r\naccess-control-request-method: POST\r\n", NULL, 0, 204,
	       "access-control-allow-origin: https://a");
	expect(&f, "POST", PROFILES, JSON "origin: https://a\r\n", "{}", 2, 200,
	       "access-control-allow-origin: https://a");
	teardown(&f);
}

TEST(otlp_options_want_a_protocol)
{
	struct otlp_options options = otlp_defaults;
	struct config_errors errors;

	config_errors_init(&errors);
	otlp_options_check(&options, (struct config_place){ "", 0, 0 }, "receivers::otlp", &errors);
	EQ(errors.error_count, 1);
	OK(strstr(errors.errors[0], "needs at least one of grpc, http"));
	options.protocols.has_grpc = true;
	options.protocols.grpc.max_recv_msg_size_mib = 100;
	otlp_options_check(&options, (struct config_place){ "", 0, 0 }, "receivers::otlp", &errors);
	EQ(errors.error_count, 1);
	EQ(errors.warning_count, 1);
	EQ(otlp_grpc_message_max(&options.protocols.grpc), 64 << 20);
	EQ(otlp_http_body_max(&options.protocols.http), 20 << 20);
	options.protocols.grpc.max_recv_msg_size_mib = 0;
	options.protocols.http.compression_algorithms =
		(struct config_texts){ 4, (const char *const[]){ "", "gzip", "snappy", "brotli" } };
	otlp_options_check(&options, (struct config_place){ "", 0, 0 }, "receivers::otlp", &errors);
	EQ(errors.error_count, 2);
	OK(strstr(errors.errors[1], "has no brotli"));
	EQ(errors.warning_count, 1);
	config_errors_done(&errors);
}
