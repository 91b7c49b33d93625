// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include "test.h"

TEST(utf8_put_writes_what_utf8_next_reads)
{
	static const struct {
		uint32_t c;
		const char *text;
	} cases[] = { { 'a', "a" }, { 0x7f, "\x7f" }, { 0x80, "\xc2\x80" }, { 0x7ff, "\xdf\xbf" },
		      { 0x800, "\xe0\xa0\x80" }, { 0xfffd, UTF8_REPLACEMENT }, { 0xffff, "\xef\xbf\xbf" },
		      { 0x10000, "\xf0\x90\x80\x80" }, { 0x10ffff, "\xf4\x8f\xbf\xbf" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[5] = "";
		size_t len = utf8_put(text, cases[i].c);

		STREQ(text, cases[i].text);
		EQ(utf8_next(text, len), len);
	}
}
