// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/rpc_status.h"

#include "wire/otlp/rpc_failure.h"

#include "base/buf.h"
#include "test.h"

TEST(rpc_status_is_written_in_both_forms)
{
	struct buf b;

	buf_init(&b, 256);
	rpc_status_encode(RPC_INVALID_ARGUMENT, "a \"b\"", true, &b);
	buf_add(&b, "", 1);
	STREQ(b.data, "{\"code\":3,\"message\":\"a \\\"b\\\"\"}");
	b.len = 0;
	rpc_status_encode(RPC_INVALID_ARGUMENT, "no", false, &b);
	EQ(b.len, 6);
	OK(!memcmp(b.data, "\x08\x03\x12\x02no", 6));
	buf_done(&b);
}

TEST(rpc_status_has_one_of_http_for_each_code)
{
	EQ(rpc_status_http(RPC_OK), 200);
	EQ(rpc_status_http(RPC_INVALID_ARGUMENT), 400);
	EQ(rpc_status_http(RPC_UNAUTHENTICATED), 401);
	EQ(rpc_status_http(RPC_RESOURCE_EXHAUSTED), 413);
	EQ(rpc_status_http(RPC_UNAVAILABLE), 503);
	EQ(rpc_status_http(RPC_INTERNAL), 500);
	EQ(rpc_status_http((enum rpc_code)99), 500);
}

TEST(rpc_status_asks_to_come_again_in_words_that_senders_understand)
{
	struct rpc_failure failure;
	struct buf text;

	buf_init(&text, 1024);
	rpc_status_retry(RPC_RESOURCE_EXHAUSTED, "too much", 30, &text);
	buf_add(&text, "", 1);
	EQ(rpc_failure_parse_trailer(text.data, &failure), 0);
	EQ(failure.code, RPC_RESOURCE_EXHAUSTED);
	EQ(failure.has_retry, true);
	EQ(failure.retry_ns, 30000000000ll);
	buf_done(&text);
}
