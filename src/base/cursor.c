// SPDX-License-Identifier: Apache-2.0
#include "base/cursor.h"

#include <assert.h>
#include <string.h>

#define LEB_BYTES_MAX 10

const uint8_t *cursor_skip(struct cursor *c, uint64_t bytes)
{
	const uint8_t *at = c->at;

	if (bytes > cursor_left(c)) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	c->at += bytes;
	return at;
}

uint64_t cursor_uint(struct cursor *c, size_t bytes)
{
	const uint8_t *at = cursor_skip(c, bytes);
	uint64_t value = 0;

	assert(bytes >= 1 && bytes <= 8);
	if (!at)
		return 0;
	/* We run on little-endian machines only. Two sizes are so frequent that a call would be felt. */
	if (bytes == 4)
		memcpy(&value, at, 4);
	else if (bytes == 8)
		memcpy(&value, at, 8);
	else
		memcpy(&value, at, bytes);
	return value;
}

int64_t cursor_int(struct cursor *c, size_t bytes)
{
	int unused_bits = 64 - 8 * (int)bytes;

	return (int64_t)(cursor_uint(c, bytes) << unused_bits) >> unused_bits;
}

/* The number, and how many of its bits were given. */
static uint64_t read_leb(struct cursor *c, uint8_t *ret_last, unsigned int *ret_bits)
{
	uint64_t value = 0;
	unsigned int bits = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (bits < 64)
			value |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
	} while (byte & 0x80 && bits < 7 * LEB_BYTES_MAX);
	c->bad |= byte & 0x80;
	*ret_last = byte;
	*ret_bits = bits;
	return value;
}

uint64_t cursor_uleb(struct cursor *c)
{
	unsigned int bits;
	uint8_t last;

	return read_leb(c, &last, &bits);
}

int64_t cursor_sleb(struct cursor *c)
{
	unsigned int bits;
	uint8_t last;
	uint64_t value = read_leb(c, &last, &bits);

	if (last & 0x40 && bits < 64)
		value |= ~0ull << bits;
	return (int64_t)value;
}

const char *cursor_string(struct cursor *c)
{
	const uint8_t *nul = cursor_left(c) ? memchr(c->at, 0, cursor_left(c)) : NULL;
	const char *at = (const char *)c->at;

	if (!cursor_skip(c, nul ? (uint64_t)(nul - c->at) + 1 : UINT64_MAX))
		return "";
	return at;
}
