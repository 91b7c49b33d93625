// SPDX-License-Identifier: Apache-2.0
/*
 *	request		1 resource profiles*	2 dictionary
 *	  resource profiles	1 resource	2 scope profiles*	3 schema
 *	    scope profiles	2 profile*
 *	      profile		2 sample*
 */
#include "wire/otlp/otlp_resources.h"

#include <errno.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/pb.h"

enum { REQUEST_RESOURCES = 1, RESOURCES_RESOURCE = 1, RESOURCES_SCOPES = 2, RESOURCES_SCHEMA = 3, SCOPES_PROFILE = 2,
       PROFILE_SAMPLE = 2 };

/* The resource and the schema of one, nothing else. */
static int put_head(struct buf *out, struct pb message)
{
	size_t mark = pb_begin(out, REQUEST_RESOURCES);
	u32 seen = 0;
	struct pb_field f;

	while (pb_next(&message, &f)) {
		if (f.number != RESOURCES_RESOURCE && f.number != RESOURCES_SCHEMA)
			continue;
		if (f.wire != PB_LEN || seen & 1u << f.number)
			return -EOPNOTSUPP;	/* parts of one resource would have to be joined */
		seen |= 1u << f.number;
		pb_put_bytes(out, f.number, f.body.at, pb_left(&f.body));
	}
	pb_end(out, mark);
	return message.err ? message.err : buf_err(out);
}

int otlp_resources_read(const void *at, size_t bytes, struct profile **ret_resources)
{
	_cleanup_(buf_done) struct buf heads;
	struct pb request = pb_from(at, bytes);
	struct pb_field f;
	int r = 0;

	buf_init(&heads, bytes + 16);
	while (r == 0 && pb_next(&request, &f))
		if (f.number == REQUEST_RESOURCES)
			r = f.wire == PB_LEN ? put_head(&heads, f.body) : -EBADMSG;
	if (r == 0)
		r = request.err;
	if (r == 0)
		r = otlp_decode(heads.data, heads.len, NULL, ret_resources);
	return r == -EBADMSG ? -EOPNOTSUPP : r;		/* what is wrong may be a string that is not there */
}

static u64 count_samples(struct pb message)
{
	struct pb_field scope, profile, sample;
	u64 samples = 0;

	while (pb_next(&message, &scope)) {
		if (scope.number != RESOURCES_SCOPES || scope.wire != PB_LEN)
			continue;
		while (pb_next(&scope.body, &profile)) {
			if (profile.number != SCOPES_PROFILE || profile.wire != PB_LEN)
				continue;
			while (pb_next(&profile.body, &sample))
				samples += sample.number == PROFILE_SAMPLE && sample.wire == PB_LEN;
		}
	}
	return samples;
}

/* One of them: its head is new, the rest is copied as it is. */
static int put_changed(struct buf *out, struct pb message, struct pb head)
{
	size_t mark = pb_begin(out, REQUEST_RESOURCES);
	const u8 *from;
	struct pb_field f;

	buf_add(out, head.at, pb_left(&head));
	for (from = message.at; pb_next(&message, &f); from = message.at)
		if (f.number != RESOURCES_RESOURCE && f.number != RESOURCES_SCHEMA)
			buf_add(out, from, (size_t)(message.at - from));
	pb_end(out, mark);
	return message.err;
}

/* The next head of the resources as they are now. */
static struct pb next_head(struct pb *heads)
{
	struct pb_field f;

	while (pb_next(heads, &f))
		if (f.number == REQUEST_RESOURCES)
			return f.body;
	return (struct pb){ 0 };
}

int otlp_resources_write(const void *at, size_t bytes, const struct profile *resources, const bool *drop,
			 struct buf *out, u64 *ret_dropped)
{
	_cleanup_(buf_done) struct buf encoded;
	struct pb request = pb_from(at, bytes), heads;
	const u8 *from;
	struct pb_field f;
	u64 dropped = 0;
	u32 i = 0;
	int r;

	buf_init(&encoded, out->max);
	r = otlp_encode(resources, &encoded);
	if (r == 0)
		r = buf_reserve(out, bytes + encoded.len);
	if (r < 0)
		return r;
	heads = pb_from(encoded.data, encoded.len);
	for (from = request.at; r == 0 && pb_next(&request, &f); from = request.at) {
		struct pb head;

		if (f.number != REQUEST_RESOURCES || f.wire != PB_LEN) {
			buf_add(out, from, (size_t)(request.at - from));
			continue;
		}
		head = next_head(&heads);
		if (drop && drop[i++])
			dropped += count_samples(f.body);
		else
			r = put_changed(out, f.body, head);
	}
	if (r == 0)
		r = request.err ? request.err : buf_err(out);
	if (r == 0)
		*ret_dropped = dropped;
	return r;
}
