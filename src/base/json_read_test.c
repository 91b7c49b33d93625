// SPDX-License-Identifier: Apache-2.0
#include "base/json_read.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "test.h"

static struct json_read pull(const char *text)
{
	struct json_read j;

	json_read_init(&j, text, strlen(text));
	return j;
}

static int skip(const char *text)
{
	_cleanup_(json_read_done) struct json_read j = pull(text);

	json_read_skip(&j);
	return json_read_end(&j);
}

TEST(json_read_skips_every_value)
{
	static const char *const texts[] = {
		"{}", "[]", " [ ] ", "\"\"", "0", "-0", "1.5", "-1e+10", "2E-3", "true", "false", "null", "[1,2]",
		"{\"a\":1,\"b\":[{\"c\":null},[]]}", "\n{\t\"a\" :\r{ } , \"\" : \"\\u0000\\\\\\/\" }\n",
		"\"caf\xc3\xa9 \\u00e9 \\uD83D\\ude00\"", "[[],[[]],{},1]", "{\"a\":{\"b\":{}},\"c\":2}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		EQ(skip(texts[i]), 0);
}

TEST(json_read_refuses_what_is_not_json)
{
	static const char *const texts[] = {
		"", " ", "{", "[", "}", "]", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
		"{\"a\":1 \"b\":2}", "[1}", "{\"a\":1]", "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 2", "nul",
		"tru", "True", "NaN", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"",
		"\"\\ud800x\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "\"\x01\"", "\"\xff\"", "\"\xc0\x80\"",
		"\"\xed\xa0\x80\"", "\"\xe2\x82\"", "[]]", "{}{}", "[\"a]", "{\"a\":nul}", "{null:1}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		EQ(skip(texts[i]), -EBADMSG);
}

TEST(json_read_goes_through_members_and_items_without_those_that_are_null)
{
	_cleanup_(json_read_done) struct json_read j =
		pull("{\"a\": null, \"list\": [5, [6], \"7\"], \"b\": null, \"x\": {\"y\": []}, \"last\": \"end\"}");
	struct str key;

	json_read_object(&j);
	OK(json_read_member(&j, &key));
	OK(str_equal(key, STR("list")));
	json_read_list(&j);
	OK(json_read_item(&j));
	EQ(json_read_u32(&j), 5);
	OK(json_read_item(&j));
	json_read_skip(&j);
	OK(json_read_item(&j));
	EQ(json_read_s64(&j), 7);
	OK(!json_read_item(&j));
	OK(json_read_member(&j, &key));
	OK(str_equal(key, STR("x")));
	json_read_skip(&j);
	OK(json_read_member(&j, &key));
	OK(str_equal(json_read_string(&j), STR("end")));
	OK(!json_read_member(&j, &key));
	EQ(json_read_end(&j), 0);
}

TEST(json_read_unescapes_strings)
{
	static const struct {
		const char *text;
		struct str want;
	} cases[] = {
		{ "\"plain and long enough for words\"", STR("plain and long enough for words") },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", STR("\"\\/\b\f\n\r\t") },
		{ "\"a\\u0000b\"", STR("a\0b") },
		{ "\"\\u00e9\\u20AC\\ud83d\\uDE00\"", STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") },
		{ "\"caf\xc3\xa9 and \xf0\x9f\x98\x80\\n\"", STR("caf\xc3\xa9 and \xf0\x9f\x98\x80\n") },
		{ "\"\"", STR("") },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(json_read_done) struct json_read j = pull(cases[i].text);

		OK(str_equal(json_read_string(&j), cases[i].want));
		EQ(json_read_end(&j), 0);
	}
}

TEST(json_read_reads_whole_numbers_bare_and_in_quotes)
{
	static const struct {
		const char *text;
		s64 want;
	} cases[] = {
		{ "0", 0 }, { "-0", 0 }, { "7", 7 }, { "-7", -7 }, { "\"-7\"", -7 }, { "12345678", 12345678 },
		{ "123456789", 123456789 }, { "\"1700000000123456789\"", 1700000000123456789 }, { "1e3", 1000 },
		{ "2.50e1", 25 }, { "-1E2", -100 }, { "\"9223372036854775807\"", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN }, { "\"\\u0031\"", 1 }, { "\"007\"", 7 }, { " \n5 ", 5 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(json_read_done) struct json_read j = pull(cases[i].text);

		EQ(json_read_s64(&j), cases[i].want);
		EQ(json_read_end(&j), 0);
	}
}

TEST(json_read_refuses_numbers_that_do_not_fit)
{
	static const char *const texts[] = {
		"18446744073709551616", "\"18446744073709551616\"", "99999999999999999999999", "-1", "\"-1\"", "1.5",
		"\"1.5\"", "\"\"", "\"-\"", "\"1 \"", "\" 1\"", "\"1e3\"", "1e300", "01", "true", "{}", "9e999",
	};
	_cleanup_(json_read_done) struct json_read largest = pull("18446744073709551615");

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		_cleanup_(json_read_done) struct json_read j = pull(texts[i]);

		EQ(json_read_u64(&j), 0);
		EQ(json_read_end(&j), -EBADMSG);
	}
	EQ(json_read_u64(&largest), UINT64_MAX);
	EQ(json_read_end(&largest), 0);
}

TEST(json_read_reads_reals)
{
	static const struct {
		const char *text;
		double want;
	} cases[] = {
		{ "0.1", 0.1 }, { "-2", -2 }, { "1e-3", 0.001 }, { "\"1.5\"", 1.5 }, { "\"\\u0031.25\"", 1.25 },
		{ "\"Infinity\"", INFINITY }, { "\"-Infinity\"", -INFINITY },
	};
	_cleanup_(json_read_done) struct json_read nan = pull("\"NaN\""), none = pull("\"1x\"");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(json_read_done) struct json_read j = pull(cases[i].text);

		OK(json_read_double(&j) == cases[i].want);
		EQ(json_read_end(&j), 0);
	}
	OK(isnan(json_read_double(&nan)));
	OK(json_read_double(&none) == 0);
	EQ(json_read_end(&none), -EBADMSG);
}

/* Compact and spaced, short and long numbers, and enough of them to grow. */
TEST(json_read_reads_lists_of_numbers_of_every_shape)
{
	u32 *array = NULL, cap = 0;
	struct buf b;

	for (int spaced = 0; spaced < 2; spaced++) {
		struct json_read j;

		buf_init(&b, 1 << 20);
		buf_addf(&b, "[");
		for (u32 i = 0; i < 1000; i++)
			buf_addf(&b, "%s%u", i ? spaced ? " , " : "," : "", i % 5 ? i * i : UINT32_MAX - i);
		buf_addf(&b, "]");
		json_read_init(&j, b.data, b.len);
		EQ(json_read_u32_list(&j, &array, &cap), 1000);
		EQ(json_read_end(&j), 0);
		for (u32 i = 0; i < 1000; i++)
			EQ(array[i], i % 5 ? i * i : UINT32_MAX - i);
		json_read_done(&j);
		buf_done(&b);
	}
	free(array);
}

TEST(json_read_refuses_lists_with_anything_but_numbers)
{
	/* With room behind, for short numbers are read eight bytes at a time. */
	static const char *const texts[] = {
		"[1,]            ", "[,1]            ", "[1,2            ", "[01,2]          ",
		"[4294967296]    ", "[-1,2]          ", "[1,null]        ", "[1 2]           ",
		"5               ", "[1}             ", "[1,\"x\"]       ", "[1.5,2]         ",
	};
	u32 *array = NULL, cap = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		_cleanup_(json_read_done) struct json_read j = pull(texts[i]);

		EQ(json_read_u32_list(&j, &array, &cap), 0);
		EQ(json_read_end(&j), -EBADMSG);
	}
	free(array);
}

TEST(json_read_says_where_the_text_is_wrong)
{
	_cleanup_(json_read_done) struct json_read j = pull("{\"a\": [1, x]}");

	json_read_skip(&j);
	EQ(json_read_end(&j), -EBADMSG);
	EQ(json_read_offset(&j), 10);
}

TEST(json_read_bounds_how_deep_it_goes)
{
	char text[2 * (JSON_READ_DEPTH_MAX + 1)];

	for (u32 depth = JSON_READ_DEPTH_MAX; depth <= JSON_READ_DEPTH_MAX + 1; depth++) {
		struct json_read j;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		json_read_init(&j, text, 2 * depth);
		json_read_skip(&j);
		EQ(json_read_end(&j), depth > JSON_READ_DEPTH_MAX ? -EBADMSG : 0);
		json_read_done(&j);
	}
}

TEST(json_read_peeks_and_keeps_members_that_are_null)
{
	_cleanup_(json_read_done) struct json_read j = pull(" {\"a\": null, \"b\" : -1.5e3, \"c\":[ ] }");
	struct str key, number;

	EQ(json_read_peek(&j), '{');
	json_read_object(&j);
	OK(json_read_any_member(&j, &key));
	OK(str_equal(key, STR("a")));
	EQ(json_read_peek(&j), 'n');
	json_read_skip(&j);
	OK(json_read_any_member(&j, &key));
	OK(str_equal(key, STR("b")));
	EQ(json_read_peek(&j), '-');
	number = json_read_number(&j);
	OK(str_equal(number, STR("-1.5e3")));
	OK(json_read_member(&j, &key));
	OK(str_equal(key, STR("c")));
	EQ(json_read_peek(&j), '[');
	json_read_skip(&j);
	OK(!json_read_any_member(&j, &key));
	EQ(json_read_end(&j), 0);
	EQ(json_read_peek(&j), 0);
}
