// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <errno.h>

static int digit_of(char c)
{
	return c == '-' ? 62 : c == '_' ? 63 : base64_digit(c);
}

int base64_decode(const char *text, size_t len, void *out, size_t *ret_bytes)
{
	unsigned int bits = 0, count = 0;
	unsigned char *at = out;

	while (len && text[len - 1] == '=')
		len--;
	for (size_t i = 0; i < len; i++) {
		int digit = digit_of(text[i]);

		if (digit < 0)
			return -EBADMSG;
		bits = bits << 6 | (unsigned int)digit;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		*at++ = (unsigned char)(bits >> count);
	}
	/* One digit alone holds no byte. */
	if (count == 6)
		return -EBADMSG;
	*ret_bytes = (size_t)(at - (unsigned char *)out);
	return 0;
}
