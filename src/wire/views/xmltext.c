// SPDX-License-Identifier: Apache-2.0
#include "wire/views/xmltext.h"

#include <string.h>

#include "base/utf8.h"

/* U+FFFE and U+FFFF are characters for UTF-8, but not for XML. */
static bool is_allowed(const char *at, size_t step)
{
	unsigned char c = (unsigned char)at[0];

	if (step == 1)
		return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\n';
	return step && !(step == 3 && !memcmp(at, "\xef\xbf", 2) && (unsigned char)at[2] >= 0xbe);
}

static const char *escape_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

void xmltext_put(struct buf *b, const char *at, size_t len)
{
	size_t start = 0, i = 0;

	while (i < len) {
		size_t step = utf8_next(at + i, len - i);
		const char *instead = is_allowed(at + i, step) ? escape_of(at[i]) : UTF8_REPLACEMENT;

		if (instead) {
			buf_add(b, at + start, i - start);
			buf_add(b, instead, strlen(instead));
			start = i + (step ? step : 1);
		}
		i += step ? step : 1;
	}
	buf_add(b, at + start, len - start);
}
