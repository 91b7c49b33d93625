// SPDX-License-Identifier: Apache-2.0
#include "cmd/text.h"

#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "test.h"

static struct str str(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

static const char *shown(struct str name, unsigned columns)
{
	static char copy[256];
	struct buf b;

	buf_init(&b, 4096);
	(void)text_add(&b, name, columns);
	buf_addf(&b, "%s", "");
	snprintf(copy, sizeof(copy), "%s", b.data);
	buf_done(&b);
	return copy;
}

TEST(text_disarms_terminal_escapes)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "plain::name<T>", "plain::name<T>" },
		{ "\x1b]0;owned\x07", "\\x1b]0;owned\\x07" },
		{ "a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f" },
		{ "\xc2\x9b" "2J", "\\u{9b}2J" },		/* C1 CSI as UTF-8 */
		{ "\x9b" "2J", "\\x9b2J" },			/* and as a bare byte */
		{ "\xe2\x80\xae" "gnp", "\\u{202e}gnp" },	/* right-to-left override */
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xc0\x80", "\\xc0\\x80" },			/* overlong NUL */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },		/* surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xe2\x82", "\\xe2\\x82" },			/* cut short */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		STREQ(shown(str(rows[i].name), TEXT_UNLIMITED), rows[i].want);
}

TEST(text_keeps_bytes_after_a_nul)
{
	STREQ(shown((struct str){ "a\0b", 3 }, TEXT_UNLIMITED), "a\\x00b");
}

TEST(text_fits_columns)
{
	STREQ(shown(str("exactly"), 7), "exactly");
	STREQ(shown(str("too long a name"), 10), "too lon...");
	STREQ(shown(str("abcdef"), 2), "ab");
	STREQ(shown(str("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2"), 6), "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2");
	STREQ(shown(str("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2"), 5), "\xe6\xbc\xa2...");
	STREQ(shown(str("ab\x1b" "cdefgh"), 6), "ab...");
	STREQ(shown(str("e\xcc\x81"), 1), "e\xcc\x81");
	STREQ(shown(str("x"), 0), "");
}

TEST(text_writes_json_strings)
{
	struct buf b;

	buf_init(&b, 4096);
	text_add_json(&b, (struct str){ "a\"\\\n\x1b\xff\0\xc3\xbc", 9 });
	buf_addf(&b, "%s", "");
	STREQ(b.data, "\"a\\\"\\\\\\u000a\\u001b\\ufffd\\u0000\xc3\xbc\"");
	buf_done(&b);
}

TEST(text_scales_values)
{
	static const struct {
		s64 value;
		enum unit unit;
		const char *want;
	} rows[] = {
		{ 1234567, UNIT_COUNT, "1234567" },
		{ 999, UNIT_NANOSECONDS, "999 ns" },
		{ 1500, UNIT_NANOSECONDS, "1.50 us" },
		{ 999499999, UNIT_NANOSECONDS, "999 ms" },
		{ 999999999, UNIT_NANOSECONDS, "1.00 s" },
		{ -12345678901, UNIT_NANOSECONDS, "-12.3 s" },
		{ 0, UNIT_BYTES, "0" },
		{ 47185920, UNIT_BYTES, "45.0 MiB" },
		{ INT64_MIN, UNIT_NANOSECONDS, "-9223372037 s" },
	};
	char text[TEXT_VALUE_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		STREQ(text_value(text, rows[i].value, rows[i].unit), rows[i].want);
}
