/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads little-endian numbers from bytes that came from outside.
 *
 *  - Never reads past its end: what is not there reads as 0 and sets bad,
 *    which sticks; check it once at the end.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct cursor cursor_of(const void *at, size_t bytes)
{
	const uint8_t *first = at;

	return (struct cursor){ first, bytes ? first + bytes : first, false };	/* of nothing, at may be NULL */
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->end - c->at;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	return c->at < c->end ? *c->at++ : (c->bad = true, 0);
}

/* Unsigned, of 1 to 8 bytes. */
uint64_t cursor_uint(struct cursor *c, size_t bytes);
/* Signed, of 1 to 8 bytes. */
int64_t cursor_int(struct cursor *c, size_t bytes);

/* LEB128: bits past 64 are lost; longer than 10 bytes is bad. */
uint64_t cursor_uleb(struct cursor *c);
int64_t cursor_sleb(struct cursor *c);

/* That many bytes, or NULL. */
const uint8_t *cursor_skip(struct cursor *c, uint64_t bytes);

/* A string, skipped with its NUL; "" if it does not end. */
const char *cursor_string(struct cursor *c);

#endif
