// SPDX-License-Identifier: Apache-2.0
#include "config/scalar.h"

#include <math.h>
#include <stdint.h>

#include "test.h"

static struct config_node resolved(const char *text)
{
	struct config_node node = { .kind = NODE_MAP };

	scalar_resolve(text, &node);
	STREQ(node.text, text);
	return node;
}

TEST(scalars_are_integers_as_go_reads_them)
{
	static const struct {
		const char *text;
		s64 value;
	} cases[] = {
		{ "0", 0 }, { "-0", 0 }, { "+12", 12 }, { "1_000", 1000 }, { "0x1F", 31 }, { "-0x1f", -31 },
		{ "0o17", 15 }, { "017", 15 }, { "0b101", 5 }, { "-0b1", -1 }, { "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(resolved(cases[i].text).kind, NODE_INT);
		EQ(resolved(cases[i].text).integer, cases[i].value);
	}
}

TEST(scalars_are_reals_as_go_reads_them)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{ "1.5", 1.5 }, { ".5", 0.5 }, { "1.", 1 }, { "-1e3", -1000 }, { "1_0.5", 10.5 }, { "08", 8 },
		{ "18446744073709551615", 18446744073709551615.0 }, { "99999999999999999999", 1e20 },
		{ ".inf", INFINITY }, { "-.INF", -INFINITY },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(resolved(cases[i].text).kind, NODE_DOUBLE);
		OK(resolved(cases[i].text).real == cases[i].value);
	}
	OK(isnan(resolved(".nan").real));
}

TEST(scalars_are_words_of_yaml_1_2)
{
	EQ(resolved("").kind, NODE_NULL);
	EQ(resolved("~").kind, NODE_NULL);
	EQ(resolved("null").kind, NODE_NULL);
	EQ(resolved("True").kind, NODE_BOOL);
	EQ(resolved("True").boolean, true);
	EQ(resolved("FALSE").boolean, false);
}

TEST(scalars_are_strings_otherwise)
{
	static const char *const texts[] = {
		"yes", "no", "on", "off", "y", "tRue", "nul", "-", "+", ".", "1s", "0x", "0xg", "1e", "1.2.3",
		"2026-11-15", "1:30", ".5_0", "_1", "--1", "1e999", "-9223372036854775809x", "0b", "hello", "\xc3\xa4",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		EQ(resolved(texts[i]).kind, NODE_STRING);
}
