// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "exporters/otlp_outcome.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "wire/otlp_json.h"

#define HEADERS_MAX 72
#define OWN_HEADERS 8			/* at most so many are ours */
#define GRPC_ANSWER_BYTES (4u << 20)
#define HTTP_ANSWER_BYTES (64u << 10)
#define PACKED_BYTES_MAX (BATCH_BYTES_MAX + (1u << 20))

const char *const otlp_compressions[] = {
	"gzip", "none", "zstd", "snappy", "zlib", "deflate", "lz4", "x-snappy-framed", "", NULL,
};
#define OTLP_UNSET 8

const struct config_field otlp_auth_fields[] = {
	{ "authenticator", CONFIG_TEXT, FIELD(struct otlp_auth, authenticator), .required = true, .extension = true,
	  .help = "id of the extension that gives the Authorization header" },
	{ 0 },
};

/* A request under way. */
struct request {
	struct request *next, **link;
	struct otlp_send *self;
	struct send *send;
	struct client_request *client_request;
	struct buf packed;
};

struct otlp_send {
	struct otlp_send_options options;
	char *url, *socket;
	char timeout[32];			/* grpc-timeout */
	struct sender *sender;
	struct client *client;
	const struct authenticator_ops *authenticator;
	void *authenticator_self;
	struct request *requests;
	struct http_header headers[HEADERS_MAX];	/* those of all requests */
	u32 header_count;
};

void otlp_compression_check(int compression, struct config_place place, const char *path,
			    struct config_errors *errors)
{
	if (compression >= OTLP_COMPRESSIONS_SPOKEN && compression != OTLP_UNSET)
		config_error(errors, place, path, "compression: wick does not speak %s; use gzip, zstd or none",
			     otlp_compressions[compression]);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void request_free(struct request *request)
{
	if (request->link) {
		*request->link = request->next;
		if (request->next)
			request->next->link = request->link;
	}
	buf_done(&request->packed);
	free(request);
}

static struct request *request_new(struct otlp_send *self, struct send *send)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->self = self;
	request->send = send;
	buf_init(&request->packed, PACKED_BYTES_MAX);
	request->next = self->requests;
	request->link = &self->requests;
	if (request->next)
		request->next->link = &request->next;
	self->requests = request;
	return request;
}

static void done(void *arg, const struct client_answer *answer)
{
	struct request *request = arg;
	struct send *send = request->send;
	struct send_result result;

	if (request->self->options.grpc)
		otlp_outcome_grpc(answer, &result);
	else
		otlp_outcome_http(answer, clock_ns(CLOCK_REALTIME) / 1000000000, &result);
	request_free(request);
	sender_done(send, &result);
}

/* The body as it goes out: the batch's own bytes, or what was made of them. */
static int make_body(struct request *request, const void **ret_at, size_t *ret_bytes)
{
	static const enum compression kinds[] = { COMPRESSION_GZIP, COMPRESSION_NONE, COMPRESSION_ZSTD };
	const struct otlp_send_options *options = &request->self->options;
	struct batch *batch = send_batch(request->send);
	_cleanup_(buf_done) struct buf json;
	const struct profile *profile;
	int r;

	buf_init(&json, PACKED_BYTES_MAX);
	if (options->json) {
		r = batch_profile(batch, &profile);
		if (r == 0)
			r = otlp_json_encode(profile, &json);
		*ret_at = json.data;
		*ret_bytes = json.len;
	} else {
		r = batch_bytes(batch, ret_at, ret_bytes);
	}
	if (r < 0 || (options->compression == OTLP_NONE && !options->json))
		return r;
	if (options->compression == OTLP_NONE) {
		request->packed = json;
		buf_init(&json, 0);
	} else {
		r = compression_pack_level(kinds[options->compression], options->level, *ret_at, *ret_bytes,
					   &request->packed);
	}
	*ret_at = request->packed.data;
	*ret_bytes = request->packed.len;
	return r;
}

/* Flag and length before a gRPC message. */
static void set_prefix(const struct otlp_send *self, struct client_call *call)
{
	u32 bytes = (u32)call->body_bytes;

	call->prefix[0] = self->options.compression != OTLP_NONE;
	for (int i = 0; i < 4; i++)
		call->prefix[1 + i] = (u8)(bytes >> (24 - 8 * i));
	call->prefix_bytes = 5;
}

static const char *authorization_name(const struct otlp_send *self)
{
	const struct authenticator_ops *ops = self->authenticator;

	return ops->header_name ? ops->header_name(self->authenticator_self) : "authorization";
}

static int begin_call(struct request *request, const void *body, size_t bytes)
{
	struct otlp_send *self = request->self;
	_cleanup_(buf_done) struct buf authorization;
	struct client_call call = {
		.method = "POST", .url = self->url, .headers = self->headers, .header_count = self->header_count,
		.body = body, .body_bytes = bytes, .http2_only = self->options.grpc,
		.http1_only = self->options.http1_only, .timeout_ns = self->options.sender->timeout_ns,
		.answer_max = self->options.grpc ? GRPC_ANSWER_BYTES : HTTP_ANSWER_BYTES, .done = done, .arg = request,
	};
	int r;

	buf_init(&authorization, 64u << 10);
	if (self->authenticator) {
		r = self->authenticator->header(self->authenticator_self, &authorization);
		if (r < 0)
			return r;
		buf_add(&authorization, "", 1);
		if (buf_err(&authorization) < 0)
			return buf_err(&authorization);
		self->headers[call.header_count++] = (struct http_header){ authorization_name(self),
									   authorization.data };
	}
	if (self->options.grpc)
		set_prefix(self, &call);
	return client_begin(self->client, &call, &request->client_request);
}

static int begin(void *arg, struct send *send)
{
	struct otlp_send *self = arg;
	struct request *request = request_new(self, send);
	struct send_result result = { .outcome = SEND_PERMANENT };
	const void *body;
	size_t bytes;
	int r;

	if (!request)
		return -ENOMEM;
	r = make_body(request, &body, &bytes);
	if (r == -E2BIG || r == -EBADMSG) {
		(void)snprintf(result.reason, sizeof(result.reason), "it cannot be encoded: %s",
			       r == -E2BIG ? "it is larger than 64 MiB" : strerror(-r));
		request_free(request);
		sender_done(send, &result);
		return 0;
	}
	if (r == 0)
		r = begin_call(request, body, bytes);
	if (r < 0)
		request_free(request);
	return r;
}

static void wait_for_answers(void *arg, int timeout_ms)
{
	client_wait(((struct otlp_send *)arg)->client, timeout_ms);
}

static void wake(void *arg)
{
	client_wake(((struct otlp_send *)arg)->client);
}

static void cancel(void *arg, struct send *send)
{
	struct otlp_send *self = arg;
	struct request *request = self->requests;

	while (request->send != send)
		request = request->next;
	client_cancel(self->client, request->client_request);
	request_free(request);
}

static const struct sender_ops ops = { .begin = begin, .wait = wait_for_answers, .wake = wake, .cancel = cancel };

/* ---- Life ---------------------------------------------------------------------------------- */

/* What the user gives goes before what we would say. */
static void add_header(struct otlp_send *self, const char *name, const char *value)
{
	for (u32 i = 0; i < self->header_count; i++) {
		if (!strcasecmp(self->headers[i].name, name))
			return;
	}
	self->headers[self->header_count++] = (struct http_header){ name, value };
}

static int add_headers(struct otlp_send *self, struct buf *why)
{
	static const char *const encodings[] = { "gzip", NULL, "zstd" };
	const struct otlp_send_options *options = &self->options;
	const char *encoding = encodings[options->compression];
	u64 ms = (u64)options->sender->timeout_ns / 1000000;

	if (options->headers->count > HEADERS_MAX - OWN_HEADERS) {
		buf_addf(why, "headers: there are more than %d", HEADERS_MAX - OWN_HEADERS);
		return -E2BIG;
	}
	for (u32 i = 0; i < options->headers->count; i++)
		add_header(self, options->headers->at[i].key, options->headers->at[i].value);
	/* The layout of the profiles that we send; without it receivers take it to be this one too. */
	add_header(self, "otlp-profiles-development-version", "1");
	if (encoding)
		add_header(self, options->grpc ? "grpc-encoding" : "content-encoding", encoding);
	if (!options->grpc) {
		add_header(self, "content-type", options->json ? "application/json" : "application/x-protobuf");
		return 0;
	}
	add_header(self, "content-type", "application/grpc");
	add_header(self, "te", "trailers");
	add_header(self, "grpc-accept-encoding", "identity,gzip,zstd");
	if (*options->authority)
		add_header(self, "host", options->authority);
	if (ms && ms < 100000000) {
		(void)snprintf(self->timeout, sizeof(self->timeout), "%llum", ms);
		add_header(self, "grpc-timeout", self->timeout);
	}
	return 0;
}

static int find_authenticator(struct otlp_send *self, struct service *service, struct buf *why)
{
	const char *id = self->options.authenticator;
	const struct component_ops *extension;

	if (!*id)
		return 0;
	extension = service_extension(service, id, &self->authenticator_self);
	if (!extension || !extension->authenticator || !extension->authenticator->header) {
		buf_addf(why, "auth::authenticator: service::extensions names no %s that gives a header", id);
		return -ENOENT;
	}
	self->authenticator = extension->authenticator;
	/* As in grpc-go, which does not show a secret to everybody on the way. */
	if (self->options.grpc && !self->options.has_tls && !*self->options.client.unix_socket) {
		buf_addf(why, "auth: %s needs TLS, which tls::insecure turns off", id);
		return -EINVAL;
	}
	return 0;
}

int otlp_send_new(const struct component_setup *setup, const struct otlp_send_options *options,
		  struct otlp_send **ret_self, struct buf *why)
{
	struct otlp_send *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return -ENOMEM;
	self->options = *options;
	if (self->options.compression == OTLP_UNSET)
		self->options.compression = OTLP_NONE;
	self->url = strdup(options->url);
	self->socket = strdup(options->client.unix_socket);
	self->options.client.unix_socket = self->socket;
	r = self->url && self->socket ? add_headers(self, why) : -ENOMEM;
	if (r == 0)
		r = find_authenticator(self, setup->service, why);
	if (r == 0)
		r = client_new(&self->options.client, &self->client, why);
	if (r == 0)
		r = sender_new(setup, options->sender, &ops, self, &self->sender, why);
	if (r < 0) {
		otlp_send_free(self);
		return r;
	}
	*ret_self = self;
	return 0;
}

int otlp_send_start(void *arg, struct buf *why)
{
	return sender_start(((struct otlp_send *)arg)->sender, why);
}

int otlp_send_consume(void *arg, struct batch *batch)
{
	return sender_consume(((struct otlp_send *)arg)->sender, batch);
}

void otlp_send_stop(void *arg, u64 deadline_ns)
{
	sender_stop(((struct otlp_send *)arg)->sender, deadline_ns);
}

void otlp_send_free(void *arg)
{
	struct otlp_send *self = arg;

	if (!self)
		return;
	sender_free(self->sender);
	client_free(self->client);
	free(self->url);
	free(self->socket);
	free(self);
}
