// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"

#include "test.h"

TEST(clean_text_keeps_utf8_and_replaces_the_rest)
{
	static const char *const table[][2] = {
		{ "", "" },
		{ "plain<int>::~x()", "plain<int>::~x()" },
		{ "a\nb\tc\x7f", "a?b?c?" },
		{ "გემ", "გემ" },
		{ "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5" },
		{ "\xc0\x80", "??" },			/* overlong */
		{ "\xed\xa0\x80", "???" },		/* a surrogate */
		{ "\xf4\x90\x80\x80", "????" },		/* beyond the last character */
		{ "\xe0\xa0", "??" },			/* cut off */
		{ "\xff x", "? x" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", table[i][0]);
		STREQ(clean_text(text), table[i][1]);
	}
}
