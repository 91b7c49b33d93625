// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/rpc_failure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json_read.h"
#include "base/saturate.h"
#include "profile/any.h"
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
	_cleanup_(json_read_done) struct json_read j;
	struct rpc_failure failure = { 0 };
	struct str key, text;
	int r;

	json_read_init(&j, at, bytes);
	json_read_object(&j);
	while (json_read_member(&j, &key)) {
		/* Connect has names for codes, such as "invalid_argument". */
		if (str_equal(key, STR("code")) && j.at < j.end && *j.at != '"') {
			failure.code = json_read_s64(&j);
		} else if (str_equal(key, STR("message"))) {
			text = json_read_string(&j);
			rpc_failure_text(text.at, text.len, failure.message, sizeof(failure.message));
		} else {
			json_read_skip(&j);
		}
	}
	r = json_read_end(&j);
	if (r == 0)
		*ret_failure = failure;
	return r;
}

int rpc_failure_parse_trailer(const char *text, struct rpc_failure *ret_failure)
{
	size_t len = strlen(text), bytes;
	_cleanup_(freep) char *status = NULL;
	int r;

	if (len > TRAILER_BYTES_MAX)
		return -E2BIG;
	status = malloc(BASE64_BYTES_MAX(len));
	if (!status)
		return -ENOMEM;
	r = base64_decode(text, len, status, &bytes);
	return r < 0 ? r : rpc_failure_parse(status, bytes, ret_failure);
}
