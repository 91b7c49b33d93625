// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_outcome.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "exporters/http_send.h"
#include "net/client.h"
#include "pipeline/sender.h"
#include "wire/compression.h"
#include "wire/otlp/otlp_answer.h"
#include "wire/otlp/rpc_failure.h"
#include "wire/otlp/rpc_status.h"

#define SECOND 1000000000ll
#define ASKED_MAX_NS (3600 * SECOND)	/* nobody makes us wait for longer than this before the next attempt */
#define PREFIX_BYTES 5
#define ANSWER_MAX (4u << 20)

static const char *const code_names[] = {
#define NAME(ID, code, http) [code] = #ID,
	RPC_CODES(NAME)
#undef NAME
};
#define CODES (sizeof(code_names) / sizeof(*code_names))

static s64 limited(s64 delay_ns)
{
	return delay_ns > ASKED_MAX_NS ? ASKED_MAX_NS : delay_ns;
}

static void fill_ok(const struct otlp_answer *answer, struct send_result *result)
{
	result->outcome = SEND_OK;
	result->rejected = answer->rejected;
	(void)snprintf(result->reason, sizeof(result->reason), "%s", answer->message);
}

static void fill_unreadable(struct send_result *result)
{
	/* It may well have been taken: to send it again would count it twice. */
	result->outcome = SEND_PERMANENT;
	(void)snprintf(result->reason, sizeof(result->reason), "success, but the answer cannot be read");
}

/* ---- gRPC ---------------------------------------------------------------------------------- */

static int hex_of(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10 : -1;
}

/* grpc-message has what is no plain ASCII as %XX. */
static void decode_percent(const char *text, char *out, size_t room)
{
	size_t n = 0;

	while (*text && n < room - 1) {
		if (*text == '%' && hex_of(text[1]) >= 0 && hex_of(text[2]) >= 0) {
			out[n++] = (char)(hex_of(text[1]) << 4 | hex_of(text[2]));
			text += 3;
		} else {
			out[n++] = *text++;
		}
	}
	rpc_failure_text(out, n, out, room);
}

/* What HTTP's status means where no grpc-status came: a proxy answered. */
static enum rpc_code code_of_http(int status)
{
	switch (status) {
	case 400:
		return RPC_INTERNAL;
	case 401:
		return RPC_UNAUTHENTICATED;
	case 403:
		return RPC_PERMISSION_DENIED;
	case 404:
		return RPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return RPC_UNAVAILABLE;
	default:
		return RPC_UNKNOWN;
	}
}

static enum rpc_code parse_code(const char *text)
{
	unsigned value = 0;
	const char *c = text;

	for (; isdigit((unsigned char)*c) && value < CODES; c++)
		value = value * 10 + (unsigned)(*c - '0');
	return *c || c == text || value >= CODES ? RPC_UNKNOWN : value;
}

static bool is_retryable(enum rpc_code code, bool has_retry_info)
{
	switch (code) {
	case RPC_CANCELLED:
	case RPC_DEADLINE_EXCEEDED:
	case RPC_ABORTED:
	case RPC_OUT_OF_RANGE:
	case RPC_UNAVAILABLE:
	case RPC_DATA_LOSS:
		return true;
	case RPC_RESOURCE_EXHAUSTED:
		return has_retry_info;
	default:
		return false;
	}
}

static void fill_failure(const struct client_answer *answer, enum rpc_code code, struct send_result *result)
{
	const char *details = client_answer_header(answer, "grpc-status-details-bin");
	const char *text = client_answer_header(answer, "grpc-message");
	struct rpc_failure status = { 0 };
	char message[200];

	if (details && rpc_failure_parse_trailer(details, &status) < 0)
		status = (struct rpc_failure){ 0 };
	decode_percent(text ? text : "", message, sizeof(message));
	result->outcome = is_retryable(code, status.has_retry) ? SEND_RETRY : SEND_PERMANENT;
	result->delay_ns = status.has_retry ? limited(status.retry_ns) : 0;
	(void)snprintf(result->reason, sizeof(result->reason), "gRPC status %s%s%s", code_names[code],
		       *message ? ": " : "", message);
}

/* The message of the answer: a flag that says whether it is compressed, its length in four bytes, and itself. */
static int parse_message(const struct client_answer *answer, struct otlp_answer *ret_answer)
{
	const u8 *at = (const u8 *)answer->body.data;
	const char *encoding = client_answer_header(answer, "grpc-encoding");
	_cleanup_(buf_done) struct buf plain;
	size_t bytes;
	int r;

	buf_init(&plain, ANSWER_MAX);
	if (!answer->body.len)
		return otlp_answer_parse(NULL, 0, false, ret_answer);
	if (answer->body.len < PREFIX_BYTES)
		return -EBADMSG;
	bytes = (size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4];
	if (bytes != answer->body.len - PREFIX_BYTES)
		return -EBADMSG;
	if (!at[0])
		return otlp_answer_parse(at + PREFIX_BYTES, bytes, false, ret_answer);
	if (!encoding || (strcmp(encoding, "gzip") && strcmp(encoding, "zstd")))
		return -EBADMSG;
	r = compression_unpack(*encoding == 'g' ? COMPRESSION_GZIP : COMPRESSION_ZSTD, at + PREFIX_BYTES, bytes,
			       &plain);
	return r < 0 ? r : otlp_answer_parse(plain.data, plain.len, false, ret_answer);
}

void otlp_outcome_grpc(const struct client_answer *answer, struct send_result *ret_result)
{
	const char *text = client_answer_header(answer, "grpc-status");
	struct otlp_answer parsed;

	*ret_result = (struct send_result){ 0 };
	if (text && parse_code(text) != RPC_OK) {
		fill_failure(answer, parse_code(text), ret_result);
	} else if (answer->error) {
		ret_result->outcome = SEND_RETRY;
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "%s", answer->error_text);
	} else if (!text && answer->status != 200) {
		fill_failure(answer, code_of_http(answer->status), ret_result);
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "HTTP status %d instead of gRPC",
			       answer->status);
	} else if (!text && !answer->too_large) {
		ret_result->outcome = SEND_RETRY;
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "the answer ends without a gRPC status");
	} else if (answer->too_large || parse_message(answer, &parsed) < 0) {
		fill_unreadable(ret_result);
	} else {
		fill_ok(&parsed, ret_result);
	}
}

/* ---- HTTP ---------------------------------------------------------------------------------- */

s64 otlp_retry_after(const char *text, u64 now_unix_s)
{
	static const char *const formats[] = { "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
					       "%a %b %e %H:%M:%S %Y" };
	size_t digits = strspn(text, "0123456789");
	struct tm tm = { 0 };
	const char *end;
	time_t when;

	if (digits && !text[digits])
		return digits > 9 ? ASKED_MAX_NS : limited(strtol(text, NULL, 10) * SECOND);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		end = strptime(text, formats[i], &tm);
		if (!end || *end)
			continue;
		when = timegm(&tm);
		if (when <= (time_t)now_unix_s)
			return 0;
		return when - (time_t)now_unix_s > ASKED_MAX_NS / SECOND ? ASKED_MAX_NS :
									   (when - (time_t)now_unix_s) * SECOND;
	}
	return 0;
}

static bool has_type(const struct client_answer *answer, const char *type)
{
	const char *text = client_answer_header(answer, "content-type");
	size_t len = strlen(type);

	return text && !strncasecmp(text, type, len) && (!text[len] || text[len] == ';' || text[len] == ' ');
}

static bool is_protobuf(const struct client_answer *answer)
{
	return has_type(answer, "application/x-protobuf") || has_type(answer, "application/protobuf");
}

/* An answer of another type says nothing that we could read; the status says enough. */
static void fill_success(const struct client_answer *answer, struct send_result *result)
{
	bool is_json = has_type(answer, "application/json");
	struct otlp_answer parsed = { 0 };

	if ((is_json || is_protobuf(answer)) &&
	    (answer->too_large || otlp_answer_parse(answer->body.data, answer->body.len, is_json, &parsed) < 0))
		fill_unreadable(result);
	else
		fill_ok(&parsed, result);
}

static void fill_reason(const struct client_answer *answer, struct send_result *result)
{
	struct rpc_failure status = { 0 };

	/* What cannot be read adds nothing. */
	if (has_type(answer, "application/json"))
		(void)rpc_failure_parse_json(answer->body.data, answer->body.len, &status);
	else if (is_protobuf(answer))
		(void)rpc_failure_parse(answer->body.data, answer->body.len, &status);
	else if (has_type(answer, "text/plain"))
		rpc_failure_text(answer->body.data, answer->body.len, status.message, sizeof(status.message));
	(void)snprintf(result->reason, sizeof(result->reason), "HTTP status %d%s%s", answer->status,
		       *status.message ? ": " : "", status.message);
}

static bool is_only_for_now(int status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

void otlp_outcome_http(const struct client_answer *answer, u64 now_unix_s, struct send_result *ret_result)
{
	if (!http_outcome(answer, is_only_for_now, now_unix_s, ret_result))
		fill_reason(answer, ret_result);
	else if (!answer->error)
		fill_success(answer, ret_result);
}
