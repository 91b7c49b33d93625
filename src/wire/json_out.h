/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of JSON text, appended to a buffer whose error sticks. */
#ifndef WIRE_JSON_OUT_H
#define WIRE_JSON_OUT_H

#include <stddef.h>

#include "base/buf.h"

struct any;

/* In quotes; what is not UTF-8 becomes U+FFFD. */
void json_put_string(struct buf *b, const char *at, size_t len);

/* In quotes. */
void json_put_base64(struct buf *b, const void *at, size_t len);
void json_put_hex(struct buf *b, const void *at, size_t len);

/* The shortest text that reads back as the same number; "NaN", "Infinity" and "-Infinity" in quotes. */
void json_put_double(struct buf *b, double value);

/* A value as plain JSON: bytes as base64. */
void json_put_any(struct buf *b, const struct any *value);

#endif
