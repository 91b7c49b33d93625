// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void hex_write(const void *at, size_t bytes, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *in = at;

	for (size_t i = 0; i < bytes; i++) {
		ret_text[2 * i] = digits[in[i] >> 4];
		ret_text[2 * i + 1] = digits[in[i] & 15];
	}
}
