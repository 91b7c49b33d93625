/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 of either alphabet (RFC 4648, sections 4 and 5), with or without padding. No state. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

/* At most so many bytes does text of that length stand for. */
#define BASE64_BYTES_MAX(len) ((len) / 4 * 3 + 3)

/* 0, or -EBADMSG for text that is none. */
int base64_decode(const char *text, size_t len, void *out, size_t *ret_bytes);

#endif
