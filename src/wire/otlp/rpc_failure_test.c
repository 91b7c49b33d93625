// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/rpc_failure.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "test.h"
#include "wire/pb.h"

/* code 14, a message, a detail of another type, RetryInfo {seconds, nanos} */
static void put_status(struct buf *b, s64 seconds, s64 nanos)
{
	size_t any, value, duration;

	pb_put_varint(b, 1, 14);
	pb_put_string(b, 2, "come\nagain", 10);
	any = pb_begin(b, 3);
	pb_put_string(b, 1, "type.googleapis.com/google.rpc.Help", 35);
	pb_put_string(b, 2, "\xff\xff", 2);
	pb_end(b, any);
	any = pb_begin(b, 3);
	pb_put_string(b, 1, "type.googleapis.com/google.rpc.RetryInfo", 40);
	value = pb_begin(b, 2);
	duration = pb_begin(b, 1);
	pb_put_varint(b, 1, (u64)seconds);
	pb_put_varint(b, 2, (u64)nanos);
	pb_end(b, duration);
	pb_end(b, value);
	pb_end(b, any);
	EQ(buf_err(b), 0);
}

TEST(rpc_failure_finds_the_delay_among_the_details)
{
	struct rpc_failure failure;
	struct buf b;

	buf_init(&b, 1024);
	put_status(&b, 7, 500000000);
	EQ(rpc_failure_parse(b.data, b.len, &failure), 0);
	EQ(failure.code, 14);
	STREQ(failure.message, "come?again");
	OK(failure.has_retry);
	EQ(failure.retry_ns, 7500000000);
	for (size_t n = 0; n < b.len; n++)
		(void)rpc_failure_parse(b.data, n, &failure);
	EQ(rpc_failure_parse(b.data, b.len - 1, &failure), -EBADMSG);
	buf_done(&b);
}

TEST(rpc_failure_takes_any_delay_without_overflow)
{
	static const s64 seconds[] = { -1, INT64_MAX, INT64_MIN }, want[] = { 0, INT64_MAX, 0 };
	struct rpc_failure failure;
	struct buf b;

	for (int i = 0; i < 3; i++) {
		buf_init(&b, 1024);
		put_status(&b, seconds[i], 1);
		EQ(rpc_failure_parse(b.data, b.len, &failure), 0);
		EQ(failure.retry_ns, want[i]);
		buf_done(&b);
	}
}

TEST(rpc_failure_reads_the_trailer_with_and_without_padding)
{
	struct rpc_failure failure;
	struct buf b, text;

	buf_init(&b, 1024);
	buf_init(&text, 1024);
	put_status(&b, 1, 0);
	json_put_base64(&text, b.data, b.len);
	text.data[text.len - 1] = '\0';		/* the quote at its end */
	EQ(rpc_failure_parse_trailer(text.data + 1, &failure), 0);
	EQ(failure.retry_ns, 1000000000);
	*strchrnul(text.data, '=') = '\0';
	EQ(rpc_failure_parse_trailer(text.data + 1, &failure), 0);
	EQ(rpc_failure_parse_trailer("", &failure), 0);
	EQ(failure.code, 0);
	EQ(rpc_failure_parse_trailer("!", &failure), -EBADMSG);
	EQ(rpc_failure_parse_trailer("A", &failure), -EBADMSG);
	EQ(rpc_failure_parse_trailer("CA==A", &failure), -EBADMSG);
	buf_done(&b);
	buf_done(&text);
}

static int parse_json(const char *text, struct rpc_failure *ret_failure)
{
	return rpc_failure_parse_json(text, strlen(text), ret_failure);
}

TEST(rpc_failure_reads_json)
{
	struct rpc_failure failure;

	EQ(parse_json("{\"code\":3,\"message\":\"bad\",\"x\":[]}", &failure), 0);
	EQ(failure.code, 3);
	STREQ(failure.message, "bad");
	EQ(parse_json("{\"code\": \"invalid_argument\", \"message\":\"worse\"}", &failure), 0);
	EQ(failure.code, 0);
	STREQ(failure.message, "worse");
	EQ(parse_json("[]", &failure), -EBADMSG);
	EQ(parse_json("{\"message\":1}", &failure), -EBADMSG);
	EQ(parse_json("", &failure), -EBADMSG);
}
