/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of JSON text, appended to a buffer whose error sticks. A struct
 * json_out sees to the commas:
 *
 *	jsontext_open(&j, '{');
 *	jsontext_key(&j, "name");
 *	jsontext_string(&j, at, len);
 *	jsontext_close(&j, '}');
 */
#ifndef WIRE_JSONTEXT_H
#define WIRE_JSONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"

struct any;

struct jsontext {
	struct buf *b;
	bool comma;		/* something stands before in this list */
};

void jsontext_open(struct jsontext *j, char bracket);
void jsontext_close(struct jsontext *j, char bracket);
void jsontext_key(struct jsontext *j, const char *key);

/* A value: of the last key, or the next of a list. */
void jsontext_string(struct jsontext *j, const char *at, size_t len);
void jsontext_text(struct jsontext *j, const char *text);
void jsontext_raw(struct jsontext *j, const char *at, size_t len);	/* as it stands */
void jsontext_base64(struct jsontext *j, const void *at, size_t len);
void jsontext_hex(struct jsontext *j, const void *at, size_t len);
void jsontext_double(struct jsontext *j, double value);
void jsontext_bool(struct jsontext *j, bool value);
void jsontext_u32(struct jsontext *j, u32 value);
void jsontext_u32_list(struct jsontext *j, const u32 *list, u32 count);	/* in brackets */

/* A bare number: readers that have doubles alone round it beyond 2^53. */
void jsontext_integer(struct jsontext *j, s64 value);

/* In quotes, as protobuf's JSON has 64-bit numbers, which readers would round. */
void jsontext_s64(struct jsontext *j, s64 value);
void jsontext_u64(struct jsontext *j, u64 value);

/* ---- Text alone ------------------------------------------------------------ */

/* In quotes; what is not UTF-8 becomes U+FFFD. */
void jsontext_put_string(struct buf *b, const char *at, size_t len);

/* In quotes. */
void jsontext_put_base64(struct buf *b, const void *at, size_t len);
void jsontext_put_hex(struct buf *b, const void *at, size_t len);

/* The shortest text that reads back as the same number; "NaN", "Infinity" and "-Infinity" in quotes. */
void jsontext_put_double(struct buf *b, double value);

/* A value as plain JSON: bytes as base64. */
void jsontext_put_any(struct buf *b, const struct any *value);

#endif
