/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 of either alphabet (RFC 4648, sections 4 and 5), with or without padding. No state. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

/* What a digit of the first alphabet stands for; -1 for what is none. */
static inline int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* At most so many bytes does text of that length stand for. */
#define BASE64_BYTES_MAX(len) ((len) / 4 * 3 + 3)

/* 0, or -EBADMSG for text that is none. */
int base64_decode(const char *text, size_t len, void *out, size_t *ret_bytes);

#endif
