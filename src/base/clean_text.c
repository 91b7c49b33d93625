// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"

#include "base/types.h"

/* Bytes of the UTF-8 sequence at p; 0 if there is none: overlong, a surrogate, beyond U+10FFFF or cut off. */
static u32 sequence_bytes(const u8 *p)
{
	u32 bytes = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	for (u32 i = 1; i < bytes; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return bytes;
}

char *clean_text(char *text)
{
	for (u8 *p = (u8 *)text; *p;) {
		u32 bytes = *p < 0x80 ? *p >= 0x20 && *p != 0x7f : sequence_bytes(p);

		if (!bytes)
			*p = '?';
		p += bytes ? bytes : 1;
	}
	return text;
}
