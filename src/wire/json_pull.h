/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text, pulled value by value straight into whatever the caller builds;
 * no tree is made. Values fit as protobuf's JSON mapping says: whole numbers
 * may stand in quotes or as 1e3, members that are null are not there.
 *
 *	json_pull_object(&j);
 *	while (json_pull_member(&j, &key)) {
 *		if (str_equal(key, STR("values")))
 *			for (json_pull_list(&j); json_pull_item(&j);)
 *				add(json_pull_s64(&j));
 *		else
 *			json_pull_skip(&j);
 *	}
 *
 * The whole text must be JSON, also what is skipped: strict UTF-8 and escapes,
 * nesting of JSON_PULL_DEPTH_MAX. The first error sticks: from then on
 * nothing is left to read, loops end and values are 0. json_pull_offset()
 * says where.
 */
#ifndef WIRE_JSON_PULL_H
#define WIRE_JSON_PULL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"
#include "profile/profile.h"

#define JSON_PULL_DEPTH_MAX 256
#define JSON_PULL_LIST_MAX (64u << 20)	/* numbers */

struct json_pull {
	const char *start, *at, *end;
	int err;
	u32 depth;
	bool first;		/* nothing stands before in this list or object */
	struct buf text;	/* the last string, if it does not stand in the text as it is */
};

/* The text is borrowed. */
void json_pull_init(struct json_pull *j, const void *at, size_t bytes);
void json_pull_done(struct json_pull *j);

/* To be called last: 0 if all was read and nothing follows, else -EBADMSG or -ENOMEM. */
int json_pull_end(struct json_pull *j);
void json_pull_fail(struct json_pull *j, int err);
size_t json_pull_offset(const struct json_pull *j);

/* Enters an object; then each call of the second goes on to the value of the next member that is not null. */
void json_pull_object(struct json_pull *j);
bool json_pull_member(struct json_pull *j, struct str *ret_key);

/* Enters a list; then each call of the second goes on to the next value. */
void json_pull_list(struct json_pull *j);
bool json_pull_item(struct json_pull *j);

/* Borrowed until the next string is read, also that of a key. */
struct str json_pull_string(struct json_pull *j);

s64 json_pull_s64(struct json_pull *j);
u64 json_pull_u64(struct json_pull *j);
u32 json_pull_u32(struct json_pull *j);

/* A whole list, into an array that grows to hold it; returns how many there are. */
u32 json_pull_u32_list(struct json_pull *j, u32 **array, u32 *cap);

double json_pull_double(struct json_pull *j);
bool json_pull_bool(struct json_pull *j);
void json_pull_skip(struct json_pull *j);

#endif
