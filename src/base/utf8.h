/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that comes from file names and foreign memory is only bytes; protobuf
 * and JSON want UTF-8.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

bool utf8_valid(const char *at, size_t len);

/* The length of the character that starts here (1 to 4), or 0 if none does. Overlong forms and surrogates are none. */
size_t utf8_next(const char *at, size_t len);

/* Writes a character and says how long it is. A number that is none, such as a surrogate, is written all the same. */
size_t utf8_put(char to[4], uint32_t c);

#endif
