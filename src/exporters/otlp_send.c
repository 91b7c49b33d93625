// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "exporters/otlp_outcome.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "wire/otlp/otlp_json.h"

#define OWN_HEADERS 9			/* at most so many are ours */
#define GRPC_ANSWER_BYTES (4u << 20)
#define HTTP_ANSWER_BYTES (64u << 10)

const char *const otlp_compressions[] = {
	"gzip", "none", "zstd", "snappy", "zlib", "deflate", "lz4", "x-snappy-framed", "", NULL,
};
#define OTLP_UNSET 8

const struct config_field otlp_auth_fields[] = {
	{ "authenticator", CONFIG_TEXT, FIELD(struct otlp_auth, authenticator), .required = true, .extension = true,
	  .help = "id of the extension that gives the Authorization header" },
	{ 0 },
};

void otlp_compression_check(int compression, struct config_place place, const char *path,
			    struct config_errors *errors)
{
	if (compression >= OTLP_COMPRESSIONS_SPOKEN && compression != OTLP_UNSET)
		config_error(errors, place, path, "compression: wick does not speak %s; use gzip, zstd or none",
			     otlp_compressions[compression]);
}

/* ---- Requests ------------------------------------------------------------------------------ */

void otlp_send_outcome(void *arg, const struct client_answer *answer, struct send_result *ret_result)
{
	if (((struct otlp_send *)arg)->options.grpc)
		otlp_outcome_grpc(answer, ret_result);
	else
		otlp_outcome_http(answer, clock_ns(CLOCK_REALTIME) / 1000000000, ret_result);
}

/* The body in another form than the batch's: 1; 0 if there is none, and its own bytes are sent. */
static int make_form(const struct otlp_send_options *options, struct batch *batch, struct buf *form)
{
	const struct profile *profile;
	int r;

	if (options->encode) {
		r = options->encode(batch, form);
	} else if (options->json) {
		r = batch_profile(batch, &profile);
		if (r == 0)
			r = otlp_json_encode(profile, form);
	} else {
		return 0;
	}
	return r < 0 ? r : 1;
}

/* The body as it goes out: the batch's own bytes, or what was made of them. */
static int make_body(const struct otlp_send *self, struct batch *batch, struct http_request *request)
{
	static const enum compression kinds[] = { COMPRESSION_GZIP, COMPRESSION_NONE, COMPRESSION_ZSTD };
	const struct otlp_send_options *options = &self->options;
	_cleanup_(buf_done) struct buf form;
	int made, r = 0;
	const void *at;
	size_t bytes;

	buf_init(&form, request->body.max);
	made = make_form(options, batch, &form);
	if (made < 0)
		return made;
	at = form.data;
	bytes = form.len;
	if (!made)
		r = batch_bytes(batch, &at, &bytes);
	if (r == 0 && options->compression != OTLP_NONE) {
		r = compression_pack_level(kinds[options->compression], options->level, at, bytes, &request->body);
		at = request->body.data;
		bytes = request->body.len;
	} else if (made) {
		request->body = form;
		buf_init(&form, 0);
	}
	request->call.body = at;
	request->call.body_bytes = bytes;
	return r;
}

static int add_authorization(const struct otlp_send *self, struct http_request *request)
{
	const struct authenticator_ops *ops = self->authenticator;
	int r = ops->header(self->authenticator_self, &request->text);

	if (r < 0)
		return r;
	buf_add(&request->text, "", 1);
	if (buf_err(&request->text) < 0)
		return buf_err(&request->text);
	request->headers[request->header_count++] = (struct http_header){
		ops->header_name ? ops->header_name(self->authenticator_self) : "authorization", request->text.data,
	};
	return 0;
}

static void add_headers(const struct otlp_send *self, struct http_request *request)
{
	static const char *const encodings[] = { "gzip", NULL, "zstd" };
	const struct otlp_send_options *options = &self->options;
	const char *encoding = encodings[options->compression];

	for (u32 i = 0; i < options->headers->count; i++)
		http_request_add_header(request, options->headers->at[i].key, options->headers->at[i].value);
	if (options->more_header.name)
		http_request_add_header(request, options->more_header.name, options->more_header.value);
	/* The layout of the profiles that we send; without it receivers take it to be this one too. */
	if (!options->content_type)
		http_request_add_header(request, "otlp-profiles-development-version", "1");
	if (encoding)
		http_request_add_header(request, options->grpc ? "grpc-encoding" : "content-encoding", encoding);
	if (!options->grpc) {
		http_request_add_header(request, "content-type", options->content_type ? options->content_type :
					options->json ? "application/json" : "application/x-protobuf");
		return;
	}
	http_request_add_header(request, "content-type", "application/grpc");
	http_request_add_header(request, "te", "trailers");
	http_request_add_header(request, "grpc-accept-encoding", "identity,gzip,zstd");
	if (*options->authority)
		http_request_add_header(request, "host", options->authority);
	if (*self->timeout)
		http_request_add_header(request, "grpc-timeout", self->timeout);
}

static size_t answer_max(const struct otlp_send_options *options)
{
	if (options->answer_max)
		return options->answer_max;
	return options->grpc ? GRPC_ANSWER_BYTES : HTTP_ANSWER_BYTES;
}

int otlp_send_make(void *arg, struct batch *batch, struct http_request *request)
{
	struct otlp_send *self = arg;
	int r = make_body(self, batch, request);

	if (r < 0)
		return r;
	request->call.method = "POST";
	request->call.url = self->url;
	request->call.http1_only = self->options.http1_only;
	request->call.timeout_ns = self->options.sender->timeout_ns;
	request->call.answer_max = answer_max(&self->options);
	add_headers(self, request);
	if (self->options.grpc)
		client_call_set_grpc(&request->call, self->options.compression != OTLP_NONE);
	return self->authenticator ? add_authorization(self, request) : 0;
}

static const struct http_send_ops otlp_ops = { .make = otlp_send_make, .outcome = otlp_send_outcome };

/* ---- Life ---------------------------------------------------------------------------------- */

static int check_headers(const struct otlp_send_options *options, struct buf *why)
{
	if (options->headers->count <= HTTP_SEND_HEADERS_MAX - OWN_HEADERS)
		return 0;
	buf_addf(why, "headers: there are more than %d", HTTP_SEND_HEADERS_MAX - OWN_HEADERS);
	return -E2BIG;
}

static void set_timeout(struct otlp_send *self)
{
	u64 ms = (u64)self->options.sender->timeout_ns / 1000000;

	if (self->options.grpc && ms && ms < 100000000)
		(void)snprintf(self->timeout, sizeof(self->timeout), "%llum", ms);
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

int otlp_send_init(struct otlp_send *self, const struct component_setup *setup, const struct otlp_send_options *options,
		   struct buf *why)
{
	int r;

	self->options = *options;
	if (self->options.compression == OTLP_UNSET)
		self->options.compression = OTLP_NONE;
	self->url = strdup(options->url);
	self->socket = strdup(options->client.unix_socket);
	self->options.client.unix_socket = self->socket;
	set_timeout(self);
	r = self->url && self->socket ? check_headers(options, why) : -ENOMEM;
	if (r == 0)
		r = find_authenticator(self, setup->service, why);
	if (r == 0)
		r = http_send_init(&self->http, &self->options.client, options->ops ? options->ops : &otlp_ops, why);
	return r;
}

void otlp_send_done(struct otlp_send *self)
{
	http_send_done(&self->http);
	free(self->url);
	free(self->socket);
}

int otlp_send_new(const struct component_setup *setup, const struct otlp_send_options *options, void **ret_self,
		  struct buf *why)
{
	struct otlp_send *self = calloc(1, sizeof(*self));
	int r = self ? otlp_send_init(self, setup, options, why) : -ENOMEM;

	if (r == 0)
		*ret_self = self;
	else
		otlp_send_free(self);
	return r;
}

void otlp_send_free(void *self)
{
	if (self)
		otlp_send_done(self);
	free(self);
}
