/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text, pulled value by value straight into whatever the caller builds;
 * no tree is made. Values fit as protobuf's JSON mapping says: whole numbers
 * may stand in quotes or as 1e3, members that are null are not there.
 *
 *	json_read_object(&j);
 *	while (json_read_member(&j, &key)) {
 *		if (str_equal(key, STR("values")))
 *			for (json_read_list(&j); json_read_item(&j);)
 *				add(json_read_s64(&j));
 *		else
 *			json_read_skip(&j);
 *	}
 *
 * The whole text must be JSON, also what is skipped: strict UTF-8 and escapes,
 * nesting of JSON_READ_DEPTH_MAX. The first error sticks: from then on
 * nothing is left to read, loops end and values are 0. json_read_offset()
 * says where.
 */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/types.h"

#define JSON_READ_DEPTH_MAX 256
#define JSON_READ_LIST_MAX (64u << 20)	/* numbers */

struct json_read {
	const char *start, *at, *end;
	int err;
	u32 depth;
	bool first;		/* nothing stands before in this list or object */
	struct buf text;	/* the last string, if it does not stand in the text as it is */
};

/* The text is borrowed. */
void json_read_init(struct json_read *j, const void *at, size_t bytes);
void json_read_done(struct json_read *j);

/* To be called last: 0 if all was read and nothing follows, else -EBADMSG or -ENOMEM. */
int json_read_end(struct json_read *j);
void json_read_fail(struct json_read *j, int err);
size_t json_read_offset(const struct json_read *j);

/* What the next value begins with: { [ " t f n, a digit or -; NUL at the end. */
char json_read_peek(struct json_read *j);

/* Enters an object; then each call of the second goes on to the value of the next member that is not null. */
void json_read_object(struct json_read *j);
bool json_read_member(struct json_read *j, struct str *ret_key);
bool json_read_any_member(struct json_read *j, struct str *ret_key);	/* or that is null */

/* Enters a list; then each call of the second goes on to the next value. */
void json_read_list(struct json_read *j);
bool json_read_item(struct json_read *j);

/* Borrowed until the next string is read, also that of a key. */
struct str json_read_string(struct json_read *j);

s64 json_read_s64(struct json_read *j);
u64 json_read_u64(struct json_read *j);
u32 json_read_u32(struct json_read *j);

/* A whole list, into an array that grows to hold it; returns how many there are. */
u32 json_read_u32_list(struct json_read *j, u32 **array, u32 *cap);

double json_read_double(struct json_read *j);
struct str json_read_number(struct json_read *j);	/* without quotes, as it stands; borrowed as the text is */
bool json_read_bool(struct json_read *j);
void json_read_skip(struct json_read *j);

#endif
