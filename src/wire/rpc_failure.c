// SPDX-License-Identifier: Apache-2.0
#include "wire/rpc_failure.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/saturate.h"
#include "wire/pb.h"

#define TRAILER_BYTES_MAX (64u << 10)
#define RETRY_INFO "google.rpc.RetryInfo"
#define SECOND 1000000000

void rpc_failure_text(const char *at, size_t bytes, char *out, size_t room)
{
	size_t n = bytes < room - 1 ? bytes : room - 1;

	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)at[i] < ' ' || at[i] == 0x7f ? '?' : at[i];
	out[n] = '\0';
}

static void parse_duration(struct pb *r, struct pb duration, s64 *ret_ns)
{
	struct pb_field field;
	s64 seconds = 0, nanos = 0;

	while (pb_next(&duration, &field)) {
		if (field.number == 1)
			seconds = (s64)pb_u64(&duration, &field);
		else if (field.number == 2)
			nanos = (s64)pb_u64(&duration, &field);
	}
	pb_inherit(r, &duration);
	*ret_ns = saturating_add(saturating_multiply(seconds, SECOND), nanos);
	if (*ret_ns < 0)
		*ret_ns = 0;
}

static bool ends_with(struct pb text, const char *end)
{
	size_t len = strlen(end);

	return pb_left(&text) >= len && !memcmp(text.end - len, end, len);
}

static void parse_detail(struct pb *r, struct pb any, struct rpc_failure *failure)
{
	struct pb type = { 0 }, value = { 0 };
	struct pb_field field;

	while (pb_next(&any, &field)) {
		if (field.number == 1)
			type = pb_body(&any, &field);
		else if (field.number == 2)
			value = pb_body(&any, &field);
	}
	pb_inherit(r, &any);
	if (!ends_with(type, RETRY_INFO))
		return;
	failure->has_retry = true;
	while (pb_next(&value, &field)) {
		if (field.number == 1)
			parse_duration(&value, pb_body(&value, &field), &failure->retry_ns);
	}
	pb_inherit(r, &value);
}

int rpc_failure_parse(const void *at, size_t bytes, struct rpc_failure *ret_failure)
{
	struct pb r = pb_from(at, bytes), text;
	struct rpc_failure failure = { 0 };
	struct pb_field field;

	while (pb_next(&r, &field)) {
		switch (field.number) {
		case 1:
			failure.code = (s64)pb_u64(&r, &field);
			break;
		case 2:
			text = pb_body(&r, &field);
			rpc_failure_text((const char *)text.at, pb_left(&text), failure.message,
					 sizeof(failure.message));
			break;
		case 3:
			parse_detail(&r, pb_body(&r, &field), &failure);
			break;
		}
	}
	if (r.err)
		return -EBADMSG;
	*ret_failure = failure;
	return 0;
}

int rpc_failure_parse_json(const void *at, size_t bytes, struct rpc_failure *ret_failure)
{
	_cleanup_(json_decrefp) json_t *root = json_loadb(at, bytes, JSON_REJECT_DUPLICATES, NULL);
	const json_t *message = json_object_get(root, "message"), *code = json_object_get(root, "code");
	struct rpc_failure failure = { 0 };

	if (!json_is_object(root) || (message && !json_is_string(message)))
		return -EBADMSG;
	failure.code = json_integer_value(code);
	if (message)
		rpc_failure_text(json_string_value(message), json_string_length(message), failure.message,
			 sizeof(failure.message));
	*ret_failure = failure;
	return 0;
}

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Appends the bytes that base64 of either alphabet stands for. */
static int base64_decode(const char *text, struct buf *out)
{
	u32 bits = 0, count = 0;

	for (; *text && *text != '='; text++) {
		int digit = digit_of(*text);

		if (digit < 0)
			return -EBADMSG;
		bits = bits << 6 | (u32)digit;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		buf_add(out, &(char){ (char)(bits >> count) }, 1);
	}
	/* Six bits alone are no byte; after padding nothing comes. */
	return count == 6 || text[strspn(text, "=")] ? -EBADMSG : buf_err(out);
}

int rpc_failure_parse_trailer(const char *text, struct rpc_failure *ret_failure)
{
	_cleanup_(buf_done) struct buf bytes;
	int r;

	buf_init(&bytes, TRAILER_BYTES_MAX);
	r = base64_decode(text, &bytes);
	return r < 0 ? r : rpc_failure_parse(bytes.data, bytes.len, ret_failure);
}
