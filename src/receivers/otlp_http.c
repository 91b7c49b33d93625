// SPDX-License-Identifier: Apache-2.0
/* OTLP/HTTP: POST of protobuf or JSON, answered in kind. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "net/server.h"
#include "pipeline/arrivals.h"
#include "receivers/cors.h"
#include "receivers/otlp_endpoint.h"
#include "wire/otlp/rpc_status.h"

#define ANSWER_MAX 4096
#define HEADERS_MAX (CORS_HEADERS_MAX + 33)

enum body { BODY_OTHER, BODY_PROTOBUF, BODY_JSON };
static const char *const body_types[] = { "text/plain", "application/x-protobuf", "application/json" };

static enum body body_of(const char *content_type)
{
	size_t len = content_type ? strcspn(content_type, "; \t") : 0;
	static const struct { const char *name; enum body body; } known[] = {
		{ "application/x-protobuf", BODY_PROTOBUF },
		{ "application/protobuf", BODY_PROTOBUF },
		{ "application/json", BODY_JSON },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (len == strlen(known[i].name) && !strncasecmp(content_type, known[i].name, len))
			return known[i].body;
	return BODY_OTHER;
}

struct answer {
	struct exchange *exchange;
	enum otlp_signal signal;
	struct cors_answer cors;
	struct http_header headers[HEADERS_MAX];
	u32 count;
	char later[16];		/* "": not asked to come again */
};

static void answer_add(struct answer *a, const char *name, const char *value)
{
	if (a->count < HEADERS_MAX)
		a->headers[a->count++] = (struct http_header){ name, value };
}

static void answer_init(struct answer *a, const struct otlp_http_options *options, struct exchange *exchange)
{
	const char *origin = exchange_header(exchange, "origin");

	a->exchange = exchange;
	a->count = 0;
	a->later[0] = '\0';
	if (!strcmp(exchange_method(exchange), "OPTIONS"))
		cors_answer_preflight(&options->cors, origin,
				      exchange_header(exchange, "access-control-request-headers"), &a->cors);
	else
		cors_answer(&options->cors, origin, &a->cors);
	for (u32 i = 0; i < a->cors.count; i++)
		answer_add(a, a->cors.headers[i].name, a->cors.headers[i].value);
	for (u32 i = 0; i < options->response_headers.count; i++)
		answer_add(a, options->response_headers.at[i].key, options->response_headers.at[i].value);
}

static void answer_text(struct answer *a, int status, const char *text)
{
	struct buf body;

	buf_init(&body, ANSWER_MAX);
	buf_addf(&body, "%s", text);
	exchange_reply(a->exchange, status, "text/plain", a->headers, a->count, &body);
	buf_done(&body);
}

static void answer_status(struct answer *a, enum rpc_code code, const char *text, enum body as)
{
	struct buf body;

	buf_init(&body, ANSWER_MAX);
	if (code != RPC_OK)
		rpc_status_encode(code, text, as == BODY_JSON, &body);
	else if (as == BODY_JSON)
		buf_addf(&body, "{}");
	if (code == RPC_UNAUTHENTICATED)
		answer_add(a, "www-authenticate", "Bearer, Basic");
	if (*a->later)
		answer_add(a, "retry-after", a->later);
	exchange_reply(a->exchange, *a->later ? 429 : code == RPC_UNIMPLEMENTED ? 404 : rpc_status_http(code),
		       body_types[as], a->headers, a->count, &body);
	buf_done(&body);
}

/* The algorithms of the options, if there are any, else all that are known. */
static bool encoding_allowed(const struct otlp_http_options *options, const struct exchange *exchange)
{
	const char *encoding = exchange_header(exchange, "content-encoding");
	const struct config_texts *allowed = &options->compression_algorithms;

	if (!encoding || !strcasecmp(encoding, "identity"))
		encoding = "";
	for (u32 i = 0; i < allowed->count; i++)
		if (!strcasecmp(allowed->at[i], encoding))
			return true;
	return !allowed->count;
}

/* Refused before anything else was looked at. */
static void refuse(struct otlp_endpoint *endpoint, struct arrival *arrival, struct answer *a, int status,
		   const char *text)
{
	otlp_endpoint_tell(endpoint, a->signal, arrival, RPC_INVALID_ARGUMENT, text);
	answer_text(a, status, text);
}

static enum rpc_code take(struct otlp_endpoint *endpoint, struct answer *a, bool json, struct arrival *arrival,
			  struct buf *why)
{
	struct exchange *exchange = a->exchange;
	enum rpc_code code = otlp_endpoint_admit(endpoint, a->signal, exchange, why);

	if (code == RPC_RESOURCE_EXHAUSTED)
		snprintf(a->later, sizeof(a->later), "%d", OTLP_LATER_SECONDS);
	if (code == RPC_OK && !encoding_allowed(endpoint->http, exchange)) {
		buf_addf(why, "this Content-Encoding is not accepted here");
		code = RPC_INVALID_ARGUMENT;
	}
	if (code == RPC_OK)
		code = otlp_endpoint_take(endpoint, a->signal, exchange, json, arrival, why);
	otlp_endpoint_tell(endpoint, a->signal, arrival, code, why->len ? why->data : "");
	return code;
}

static void handle(struct otlp_endpoint *endpoint, enum otlp_signal signal, struct exchange *exchange)
{
	enum body body = body_of(exchange_header(exchange, "content-type"));
	struct arrival arrival;
	struct answer a;
	struct buf why;
	enum rpc_code code;

	answer_init(&a, endpoint->http, exchange);
	a.signal = signal;
	if (!strcmp(exchange_method(exchange), "OPTIONS") && exchange_header(exchange, "origin"))
		return exchange_reply(exchange, 204, NULL, a.headers, a.count, NULL);
	otlp_endpoint_note(endpoint, exchange, &arrival);
	if (strcmp(exchange_method(exchange), "POST")) {
		answer_add(&a, "allow", "POST");
		return refuse(endpoint, &arrival, &a, 405, "405 method not allowed, supported: [POST]");
	}
	if (body == BODY_OTHER)
		return refuse(endpoint, &arrival, &a, 415, "415 unsupported media type, supported: "
			      "[application/json, application/x-protobuf]");
	if (body == BODY_JSON)
		ARRIVAL_TEXT(arrival.protocol, "http json");
	buf_init(&why, OTLP_WHY_MAX);
	code = take(endpoint, &a, body == BODY_JSON, &arrival, &why);
	answer_status(&a, code, why.len ? why.data : "", body);
	buf_done(&why);
}

void otlp_http_handle(void *arg, struct exchange *exchange)
{
	handle(arg, OTLP_PROFILES, exchange);
}

void otlp_http_handle_metrics(void *arg, struct exchange *exchange)
{
	handle(arg, OTLP_METRICS, exchange);
}
