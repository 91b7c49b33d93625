// SPDX-License-Identifier: Apache-2.0
/* Replies: made by whoever holds the exchange, or by the loop for what is refused. See net/exchange.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/connection.h"
#include "net/exchange.h"
#include "net/routes.h"

const char *http_reason(int status)
{
	static const struct { int status; const char *reason; } reasons[] = {
		{ 100, "Continue" }, { 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" },
		{ 301, "Moved Permanently" }, { 302, "Found" }, { 304, "Not Modified" }, { 307, "Temporary Redirect" },
		{ 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 406, "Not Acceptable" }, { 408, "Request Timeout" },
		{ 411, "Length Required" }, { 412, "Precondition Failed" }, { 413, "Content Too Large" },
		{ 414, "URI Too Long" }, { 415, "Unsupported Media Type" }, { 416, "Range Not Satisfiable" },
		{ 417, "Expectation Failed" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
		{ 501, "Not Implemented" }, { 502, "Bad Gateway" }, { 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

/* ---- Fields ---------------------------------------------------------------------------- */

/* Control characters would end the field, or the head, early: they become spaces. */
static void add_field(struct reply *reply, const char *name, const char *value)
{
	size_t at;

	buf_add(&reply->fields, name, strlen(name) + 1);
	at = reply->fields.len;
	buf_add(&reply->fields, value, strlen(value) + 1);
	if (buf_err(&reply->fields))
		return;
	for (char *c = reply->fields.data + at; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	reply->header_count++;
}

static void add_fields(struct reply *reply, const struct http_header *headers, u32 count)
{
	for (u32 i = 0; i < count; i++)
		add_field(reply, headers[i].name, headers[i].value);
}

void reply_field(const struct reply *reply, size_t *at, const char **ret_name, const char **ret_value)
{
	*ret_name = reply->fields.data + *at;
	*at += strlen(*ret_name) + 1;
	*ret_value = reply->fields.data + *at;
	*at += strlen(*ret_value) + 1;
}

/* Without memory for the fields the reply is bare. */
static void check_fields(struct reply *reply)
{
	if (buf_err(&reply->fields) == 0)
		return;
	buf_done(&reply->fields);
	buf_done(&reply->body);
	reply->header_count = reply->trailer_count = 0;
	reply->status = 500;
}

static void take_body(struct reply *reply, struct buf *body)
{
	if (!body)
		return;
	buf_done(&reply->body);
	reply->body = *body;
	*body = (struct buf){ .max = body->max };
	if (reply->body.err) {
		buf_done(&reply->body);
		reply->status = 500;
	}
}

/* ---- gRPC ------------------------------------------------------------------------------ */

/* Percent-encoded: what is not printable ASCII, and the percent sign. */
static void add_grpc_message(struct reply *reply, const char *text)
{
	struct buf *out = &reply->fields;

	buf_add(out, "grpc-message", sizeof("grpc-message"));
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		char coded[4];

		snprintf(coded, sizeof(coded), c < ' ' || c > '~' || c == '%' ? "%%%02X" : "%c", c);
		buf_add(out, coded, strlen(coded));
	}
	buf_add(out, "", 1);
	reply->header_count++;
}

static void add_grpc_status(struct reply *reply, int code, const char *text, const struct http_header *trailers,
			    u32 count)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", code);
	add_field(reply, "grpc-status", number);
	if (text && *text)
		add_grpc_message(reply, text);
	add_fields(reply, trailers, count);
}

/* The prefix, then the message: one that is not compressed. */
static void take_message(struct reply *reply, struct buf *message)
{
	u32 bytes = (u32)message->len;
	u8 prefix[GRPC_PREFIX_BYTES] = { 0, (u8)(bytes >> 24), (u8)(bytes >> 16), (u8)(bytes >> 8), (u8)bytes };

	reply->body.max = sizeof(prefix) + message->len;
	buf_add(&reply->body, prefix, sizeof(prefix));
	buf_add(&reply->body, message->data, message->len);
	buf_done(message);
	if (buf_err(&reply->body) < 0)
		reply->fields.err = -ENOMEM;
}

static void fill_grpc(struct reply *reply, int code, const char *text, const struct http_header *trailers, u32 count,
		      struct buf *message)
{
	u32 before;

	reply->status = 200;
	add_field(reply, "content-type", "application/grpc");
	if (message)
		take_message(reply, message);
	before = reply->header_count;
	add_grpc_status(reply, code, text, trailers, count);
	if (message) {
		reply->trailer_count = reply->header_count - before;
		reply->header_count = before;
	}
	check_fields(reply);
}

/* ---- In the loop ------------------------------------------------------------------------- */

static int grpc_code_of(int status)
{
	switch (status) {
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 404:
	case 405:
		return GRPC_UNIMPLEMENTED;
	case 408:
		return GRPC_DEADLINE_EXCEEDED;
	case 413:
	case 431:
		return GRPC_RESOURCE_EXHAUSTED;
	case 503:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_INTERNAL;
	}
}

void exchange_refuse(struct exchange *exchange, enum server_count count, int status, const char *text)
{
	const struct server_hooks *hooks = &exchange->server->hooks;
	struct reply *reply = &exchange->reply;

	server_count(exchange->server, count);
	if (hooks->refusal)
		hooks->refusal(hooks->arg, exchange, text);
	exchange->refused = true;
	exchange_set_early(exchange, false);
	buf_done(&exchange->body);
	exchange_release_bytes(exchange);
	if (exchange->grpc && exchange->http2 && status != 415) {
		fill_grpc(reply, grpc_code_of(status), text, NULL, 0, NULL);
		return;
	}
	reply->status = status;
	add_field(reply, "content-type", "text/plain; charset=utf-8");
	if (status == 503)
		add_field(reply, "retry-after", count == COUNT_SENDER_TIME ? "10" : "1");
	reply->body.max = strlen(text) + 2;
	buf_addf(&reply->body, "%s\n", text);
	check_fields(reply);
}

struct exchange *exchange_stand_in(struct exchange *exchange)
{
	struct connection *connection = exchange->connection;
	struct exchange *stand_in = exchange_new(connection);

	if (stand_in) {
		stand_in->stream_id = exchange->stream_id;
		stand_in->http2 = exchange->http2;
		stand_in->grpc = exchange->grpc;
		exchange_refuse(stand_in, COUNT_CLOSING, 503, "the server is shutting down");
	}
	exchange_detach(exchange);
	return stand_in;
}

/* ---- By whoever holds it -------------------------------------------------------------------- */

void exchange_reply(struct exchange *exchange, int status, const char *content_type,
		    const struct http_header *headers, u32 count, struct buf *body)
{
	struct reply *reply = &exchange->reply;

	reply->status = status;
	if (content_type)
		add_field(reply, "content-type", content_type);
	add_fields(reply, headers, count);
	take_body(reply, body);
	check_fields(reply);
	exchange_post_reply(exchange);
}

void exchange_reply_grpc(struct exchange *exchange, int grpc_status, const char *text,
			 const struct http_header *trailers, u32 count, struct buf *message)
{
	fill_grpc(&exchange->reply, grpc_status, text, trailers, count, message);
	exchange_post_reply(exchange);
}
