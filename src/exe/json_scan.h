/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds values in JSON without building anything: a value is where it stands. Megabytes of copied sources are passed
 * over, not kept. json_scan_value() looks at the whole text; what is taken out of it later is whole, too.
 */
#ifndef EXE_JSON_SCAN_H
#define EXE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define JSON_SCAN_DEEP 64

/* A value, or what is left of one; at is NULL if there is none. */
struct json_scan {
	const char *at, *end;
};

/* The value that a text holds: 0, or -EBADMSG if it is none, or nested too deep. */
int json_scan_value(const char *at, size_t bytes, struct json_scan *ret_value);

/* Takes the next member off an object, or the next element off an array; false if there is no more, or it is none. */
bool json_scan_member(struct json_scan *object, struct json_scan *ret_key, struct json_scan *ret_value);
bool json_scan_element(struct json_scan *array, struct json_scan *ret_value);

bool json_scan_is_string(const struct json_scan *value);

/* Is it that string, written without escapes? */
bool json_scan_is(const struct json_scan *value, const char *text);

/* A string's text, cut to fit, up to a NUL; "" for anything else. */
void json_scan_text(const struct json_scan *value, char *to, size_t to_bytes);

/* A whole number of up to nine digits; 0 for anything else. */
s64 json_scan_number(const struct json_scan *value);

#endif
