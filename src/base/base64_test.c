// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <errno.h>

#include "test.h"

TEST(base64_reads_either_alphabet_with_and_without_padding)
{
	static const struct {
		const char *text, *bytes;
		size_t len;
	} cases[] = {
		{ "", "", 0 },
		{ "YQ==", "a", 1 },
		{ "YQ", "a", 1 },
		{ "YWI=", "ab", 2 },
		{ "YWJj", "abc", 3 },
		{ "YWJjZA==", "abcd", 4 },
		{ "+/+/", "\xfb\xff\xbf", 3 },
		{ "-_-_", "\xfb\xff\xbf", 3 },
	};
	char out[16];
	size_t len;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		EQ(base64_decode(cases[i].text, strlen(cases[i].text), out, &len), 0);
		EQ(len, cases[i].len);
		OK(!memcmp(out, cases[i].bytes, len));
		OK(len <= BASE64_BYTES_MAX(strlen(cases[i].text)));
	}
}

TEST(base64_refuses_what_is_none)
{
	static const char *const texts[] = { "A", "!", "YQ==A", "YWJjZ", "YW J" };
	char out[16];
	size_t len;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		EQ(base64_decode(texts[i], strlen(texts[i]), out, &len), -EBADMSG);
}
