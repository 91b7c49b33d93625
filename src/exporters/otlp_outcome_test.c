// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_outcome.h"

#include <errno.h>

#include "net/client.h"
#include "pipeline/sender.h"
#include "test.h"

#define NOW 1700000000u		/* Tue, 14 Nov 2023 22:13:20 GMT */
#define SECOND 1000000000ll

/* An answer with up to three headers. */
#define ANSWER(code, text, ...) \
	{ .status = code, .body = { .data = text, .len = sizeof(text) - 1 }, \
	  .headers = (const struct http_header[]){ __VA_ARGS__ }, \
	  .header_count = sizeof((const struct http_header[]){ __VA_ARGS__ }) / sizeof(struct http_header) }

static struct send_result grpc(struct client_answer answer)
{
	struct send_result result;

	otlp_outcome_grpc(&answer, &result);
	return result;
}

static struct send_result http(struct client_answer answer)
{
	struct send_result result;

	otlp_outcome_http(&answer, NOW, &result);
	return result;
}

TEST(otlp_outcome_of_each_grpc_status)
{
	/* As OTLP says; RESOURCE_EXHAUSTED is retried only if it carries RetryInfo. */
	static const char retried[17] = { [1] = 1, [4] = 1, [10] = 1, [11] = 1, [14] = 1, [15] = 1 };
	char number[8];

	for (int code = 1; code <= 16; code++) {
		snprintf(number, sizeof(number), "%d", code);
		EQ(grpc((struct client_answer)ANSWER(200, "", { "grpc-status", number })).outcome,
		   retried[code] ? SEND_RETRY : SEND_PERMANENT);
	}
	EQ(grpc((struct client_answer)ANSWER(200, "", { "grpc-status", "17" })).outcome, SEND_PERMANENT);
	EQ(grpc((struct client_answer)ANSWER(200, "", { "grpc-status", "4294967310" })).outcome, SEND_PERMANENT);
	EQ(grpc((struct client_answer)ANSWER(200, "", { "grpc-status", "" })).outcome, SEND_PERMANENT);
	EQ(grpc((struct client_answer)ANSWER(200, "", { "grpc-status", "0" })).outcome, SEND_OK);
}

TEST(otlp_outcome_waits_as_retry_info_says)
{
	/* Status {3: Any {type.googleapis.com/google.rpc.RetryInfo, RetryInfo {Duration {seconds: 7}}}} */
	const char *info = "GjIKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8SBgoECAcQAA";
	struct send_result result = grpc((struct client_answer)ANSWER(200, "", { "grpc-status", "8" },
			{ "grpc-message", "slow%20down%0a%zz" }, { "grpc-status-details-bin", info }));

	EQ(result.outcome, SEND_RETRY);
	EQ(result.delay_ns, 7 * SECOND);
	STREQ(result.reason, "gRPC status RESOURCE_EXHAUSTED: slow down?%zz");
	result = grpc((struct client_answer)ANSWER(200, "", { "grpc-status", "8" },
						   { "grpc-status-details-bin", "!" }));
	EQ(result.outcome, SEND_PERMANENT);
}

TEST(otlp_outcome_of_an_answer_that_is_no_grpc)
{
	static const struct {
		int status;
		enum send_outcome want;
	} cases[] = {
		{ 400, SEND_PERMANENT }, { 401, SEND_PERMANENT }, { 403, SEND_PERMANENT }, { 404, SEND_PERMANENT },
		{ 429, SEND_RETRY }, { 500, SEND_PERMANENT }, { 502, SEND_RETRY }, { 503, SEND_RETRY },
		{ 504, SEND_RETRY }, { 200, SEND_RETRY },
	};
	struct client_answer lost = { .error = -EIO, .error_text = "reset" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		EQ(grpc((struct client_answer)ANSWER(cases[i].status, "", { "x", "y" })).outcome, cases[i].want);
	STREQ(grpc((struct client_answer)ANSWER(502, "", { "x", "y" })).reason, "HTTP status 502 instead of gRPC");
	EQ(grpc(lost).outcome, SEND_RETRY);
	STREQ(grpc(lost).reason, "reset");
	/* A server that says no before it has read all, and then resets the stream. */
	lost.headers = &(struct http_header){ "grpc-status", "3" };
	lost.header_count = 1;
	EQ(grpc(lost).outcome, SEND_PERMANENT);
}

TEST(otlp_outcome_reads_the_message_of_grpc)
{
	const struct http_header ok = { "grpc-status", "0" };
	struct send_result result;

	result = grpc((struct client_answer)ANSWER(200, "\0\0\0\0\x09\x0a\x07\x08\x05\x12\x03" "bad", ok));
	EQ(result.outcome, SEND_OK);
	EQ(result.rejected, 5);
	STREQ(result.reason, "bad");
	EQ(grpc((struct client_answer)ANSWER(200, "\0\0\0\0\0", ok)).outcome, SEND_OK);
	EQ(grpc((struct client_answer)ANSWER(200, "\0\0\0\0\x01", ok)).outcome, SEND_PERMANENT);
	EQ(grpc((struct client_answer)ANSWER(200, "\0\0\0", ok)).outcome, SEND_PERMANENT);
	EQ(grpc((struct client_answer)ANSWER(200, "\0\0\0\0\x01\xff", ok)).outcome, SEND_PERMANENT);
	/* gzip of nothing, as grpc-go answers a request that was compressed */
	EQ(grpc((struct client_answer)ANSWER(200, "\1\0\0\0\x14\x1f\x8b\x08\0\0\0\0\0\0\xff\x03\0\0\0\0\0\0\0\0\0", ok,
					     { "grpc-encoding", "gzip" })).outcome, SEND_OK);
	EQ(grpc((struct client_answer)ANSWER(200, "\1\0\0\0\0", ok)).outcome, SEND_PERMANENT);
}

TEST(otlp_outcome_of_each_http_status)
{
	for (int status = 100; status < 600; status++) {
		enum send_outcome want = status / 100 == 2 ? SEND_OK : SEND_PERMANENT;

		if (status == 429 || status == 502 || status == 503 || status == 504)
			want = SEND_RETRY;
		EQ(http((struct client_answer)ANSWER(status, "", { "x", "y" })).outcome, want);
	}
	EQ(http((struct client_answer){ .error = -ETIMEDOUT, .error_text = "late" }).outcome, SEND_RETRY);
}

TEST(otlp_outcome_reads_the_body_of_http)
{
	const struct http_header proto = { "content-type", "application/x-protobuf" };
	const struct http_header json = { "content-type", "application/json; charset=utf-8" };
	struct send_result result;

	EQ(http((struct client_answer)ANSWER(200, "\x0a\x02\x08\x05", proto)).rejected, 5);
	EQ(http((struct client_answer)ANSWER(200, "{\"partialSuccess\":{\"rejectedProfiles\":6}}", json)).rejected, 6);
	EQ(http((struct client_answer)ANSWER(200, "<html>", proto)).outcome, SEND_PERMANENT);
	EQ(http((struct client_answer)ANSWER(200, "<html>", json)).outcome, SEND_PERMANENT);
	EQ(http((struct client_answer)ANSWER(200, "<html>", { "content-type", "text/html" })).outcome, SEND_OK);
	result = http((struct client_answer)ANSWER(400, "\x08\x03\x12\x03" "bad", proto));
	STREQ(result.reason, "HTTP status 400: bad");
	result = http((struct client_answer)ANSWER(400, "{\"message\":\"worse\"}", json));
	STREQ(result.reason, "HTTP status 400: worse");
	result = http((struct client_answer)ANSWER(413, "too\x1b large", { "content-type", "text/plain" }));
	STREQ(result.reason, "HTTP status 413: too? large");
	result = http((struct client_answer)ANSWER(500, "\xff", proto));
	STREQ(result.reason, "HTTP status 500");
}

TEST(otlp_outcome_waits_as_retry_after_says)
{
	EQ(http((struct client_answer)ANSWER(503, "", { "retry-after", "7" })).delay_ns, 7 * SECOND);
	EQ(otlp_retry_after("0", NOW), 0);
	EQ(otlp_retry_after("99999999999999999999", NOW), 3600 * SECOND);
	EQ(otlp_retry_after("-1", NOW), 0);
	EQ(otlp_retry_after("7 ", NOW), 0);
	EQ(otlp_retry_after("", NOW), 0);
	EQ(otlp_retry_after("soon", NOW), 0);
	EQ(otlp_retry_after("Tue, 14 Nov 2023 22:13:50 GMT", NOW), 30 * SECOND);
	EQ(otlp_retry_after("Tuesday, 14-Nov-23 22:13:50 GMT", NOW), 30 * SECOND);
	EQ(otlp_retry_after("Tue Nov 14 22:13:50 2023", NOW), 30 * SECOND);
	EQ(otlp_retry_after("Tue, 14 Nov 2023 22:13:00 GMT", NOW), 0);
	EQ(otlp_retry_after("Tue, 14 Nov 9999 22:13:00 GMT", NOW), 3600 * SECOND);
}
