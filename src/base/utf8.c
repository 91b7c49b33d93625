// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t utf8_next(const char *at, size_t len)
{
	const unsigned char *s = (const unsigned char *)at;

	if (!len)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return len >= 2 && is_tail(s[1]) ? 2 : 0;
	if (s[0] >= 0xe0 && s[0] <= 0xef) {
		if (len < 3 || !is_tail(s[1]) || !is_tail(s[2]))
			return 0;
		if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if (len < 4 || !is_tail(s[1]) || !is_tail(s[2]) || !is_tail(s[3]))
			return 0;
		if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

size_t utf8_put(char to[4], uint32_t c)
{
	static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = len - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(heads[len] | c);
	return len;
}

/* Nearly all text is ASCII: eight bytes at a time. */
static size_t ascii_prefix(const char *at, size_t len)
{
	size_t i = 0;
	uint64_t word;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		if (word & 0x8080808080808080)
			break;
	}
	/* The rest, with some of what was looked at already. */
	if (len >= sizeof(word) && i + sizeof(word) > len) {
		memcpy(&word, at + len - sizeof(word), sizeof(word));
		if (!(word & 0x8080808080808080))
			return len;
	}
	while (i < len && (unsigned char)at[i] < 0x80)
		i++;
	return i;
}

bool utf8_valid(const char *at, size_t len)
{
	size_t i = ascii_prefix(at, len);

	while (i < len) {
		size_t step = utf8_next(at + i, len - i);

		if (!step)
			return false;
		i += step;
	}
	return true;
}
