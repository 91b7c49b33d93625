// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp_answer.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/jsonread.h"
#include "wire/pb.h"
#include "wire/rpc_failure.h"

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

static int parse_json(const void *at, size_t bytes, struct otlp_answer *answer)
{
	_cleanup_(json_decrefp) json_t *root = json_loadb(at, bytes, 0, NULL);
	const json_t *partial = jsonread_member(root, "partialSuccess"), *message;
	int err = 0;

	if (!json_is_object(root) || (partial && !json_is_object(partial)))
		return -EBADMSG;
	message = jsonread_member(partial, "errorMessage");
	set_rejected(answer, jsonread_s64(jsonread_member(partial, "rejectedProfiles"), &err));
	if (message && !json_is_string(message))
		return -EBADMSG;
	if (message)
		rpc_failure_text(json_string_value(message), json_string_length(message), answer->message,
			 sizeof(answer->message));
	return err;
}

int otlp_answer_parse(const void *at, size_t bytes, bool is_json, struct otlp_answer *ret_answer)
{
	struct otlp_answer answer = { 0 };
	int r = !bytes ? 0 : is_json ? parse_json(at, bytes, &answer) : parse_protobuf(at, bytes, &answer);

	if (r == 0)
		*ret_answer = answer;
	return r;
}
