// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_answer.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_read.h"
#include "profile/any.h"
#include "wire/otlp/rpc_failure.h"
#include "wire/pb.h"

static void set_rejected(struct otlp_answer *answer, s64 rejected)
{
	answer->rejected = rejected > 0 ? (u64)rejected : 0;
}

static void parse_partial(struct pb *r, struct pb partial, struct otlp_answer *answer)
{
	struct pb_field field;

	while (pb_next(&partial, &field)) {
		if (field.number == 1) {
			set_rejected(answer, (s64)pb_u64(&partial, &field));
		} else if (field.number == 2) {
			struct pb text = pb_body(&partial, &field);

			rpc_failure_text((const char *)text.at, pb_left(&text), answer->message,
					 sizeof(answer->message));
		}
	}
	pb_inherit(r, &partial);
}

static int parse_protobuf(const void *at, size_t bytes, struct otlp_answer *answer)
{
	struct pb r = pb_from(at, bytes);
	struct pb_field field;

	while (pb_next(&r, &field)) {
		if (field.number == 1)
			parse_partial(&r, pb_body(&r, &field), answer);
	}
	return r.err ? -EBADMSG : 0;
}

static void parse_json_partial(struct json_read *j, struct otlp_answer *answer)
{
	struct str key, text;

	json_read_object(j);
	while (json_read_member(j, &key)) {
		if (str_equal(key, STR("rejectedProfiles"))) {
			set_rejected(answer, json_read_s64(j));
		} else if (str_equal(key, STR("errorMessage"))) {
			text = json_read_string(j);
			rpc_failure_text(text.at, text.len, answer->message, sizeof(answer->message));
		} else {
			json_read_skip(j);
		}
	}
}

static int parse_json(const void *at, size_t bytes, struct otlp_answer *answer)
{
	_cleanup_(json_read_done) struct json_read j;
	struct str key;

	json_read_init(&j, at, bytes);
	json_read_object(&j);
	while (json_read_member(&j, &key)) {
		if (str_equal(key, STR("partialSuccess")))
			parse_json_partial(&j, answer);
		else
			json_read_skip(&j);
	}
	return json_read_end(&j);
}

int otlp_answer_parse(const void *at, size_t bytes, bool is_json, struct otlp_answer *ret_answer)
{
	struct otlp_answer answer = { 0 };
	int r = !bytes ? 0 : is_json ? parse_json(at, bytes, &answer) : parse_protobuf(at, bytes, &answer);

	if (r == 0)
		*ret_answer = answer;
	return r;
}
