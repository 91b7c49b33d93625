/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of JSON text, appended to a buffer whose error sticks. A struct
 * json_write sees to the commas:
 *
 *	json_write_open(&j, '{');
 *	json_write_key(&j, "name");
 *	json_write_string(&j, at, len);
 *	json_write_close(&j, '}');
 */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"

struct json_write {
	struct buf *b;
	bool comma;		/* something stands before in this list */
};

void json_write_open(struct json_write *j, char bracket);
void json_write_close(struct json_write *j, char bracket);
void json_write_key(struct json_write *j, const char *key);

/* A value: of the last key, or the next of a list. */
void json_write_string(struct json_write *j, const char *at, size_t len);
void json_write_text(struct json_write *j, const char *text);
void json_write_raw(struct json_write *j, const char *at, size_t len);	/* as it stands */
void json_write_base64(struct json_write *j, const void *at, size_t len);
void json_write_hex(struct json_write *j, const void *at, size_t len);
void json_write_double(struct json_write *j, double value);
void json_write_bool(struct json_write *j, bool value);
void json_write_u32(struct json_write *j, u32 value);
void json_write_u32_list(struct json_write *j, const u32 *list, u32 count);	/* in brackets */

/* A bare number: readers that have doubles alone round it beyond 2^53. */
void json_write_integer(struct json_write *j, s64 value);

/* In quotes, as protobuf's JSON has 64-bit numbers, which readers would round. */
void json_write_s64(struct json_write *j, s64 value);
void json_write_u64(struct json_write *j, u64 value);

/* ---- Text alone ------------------------------------------------------------ */

/* In quotes; what is not UTF-8 becomes U+FFFD. */
void json_put_string(struct buf *b, const char *at, size_t len);

/* In quotes. */
void json_put_base64(struct buf *b, const void *at, size_t len);
void json_put_hex(struct buf *b, const void *at, size_t len);

/* The shortest text that reads back as the same number; "NaN", "Infinity" and "-Infinity" in quotes. */
void json_put_double(struct buf *b, double value);

#endif
