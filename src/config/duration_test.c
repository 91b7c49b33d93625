// SPDX-License-Identifier: Apache-2.0
#include "config/duration.h"

#include <errno.h>
#include <stdint.h>

#include "test.h"

static s64 parsed(const char *text)
{
	s64 ns;

	EQ(config_parse_duration(text, &ns), 0);
	return ns;
}

TEST(durations_are_read_as_go_reads_them)
{
	EQ(parsed("0"), 0);
	EQ(parsed("-0"), 0);
	EQ(parsed("5ns"), 5);
	EQ(parsed("10us"), 10000);
	EQ(parsed("10\xc2\xb5s"), 10000);
	EQ(parsed("10\xce\xbcs"), 10000);
	EQ(parsed("300ms"), 300000000);
	EQ(parsed("1h2m3.5s"), 3723500000000);
	EQ(parsed("-1.5h"), -5400000000000);
	EQ(parsed("+.5s"), 500000000);
	EQ(parsed("1.s"), 1000000000);
	EQ(parsed("1.0000000000000000000000001s"), 1000000000);
}

TEST(durations_end_at_64_bits)
{
	s64 ns;

	EQ(parsed("9223372036854775807ns"), INT64_MAX);
	EQ(parsed("-9223372036854775808ns"), INT64_MIN);
	EQ(config_parse_duration("9223372036854775808ns", &ns), -ERANGE);
	EQ(config_parse_duration("99999999999999999999h", &ns), -ERANGE);
	EQ(config_parse_duration("2562047h47m16.854775808s", &ns), -ERANGE);
	EQ(config_parse_duration("18446744073709551615ns2ns", &ns), -ERANGE);
}

TEST(durations_need_a_unit_and_nothing_else)
{
	static const char *const bad[] = {
		"", "-", "5", "s", ".s", "1x", "1s ", " 1s", "1ss", "1 s", "1d", "--1s", "1e3s",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		s64 ns = 7;

		EQ(config_parse_duration(bad[i], &ns), -EINVAL);
		EQ(ns, 7);
	}
}

TEST(durations_print_as_they_are_read)
{
	static const char *const texts[] = { "0s", "1ns", "999ns", "1.5us", "200ms", "1s", "1m30s", "1h", "24h0.5s" };
	char text[DURATION_TEXT_MAX];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		STREQ(config_print_duration(parsed(texts[i]), text), texts[i]);
	STREQ(config_print_duration(parsed("-1h1ms"), text), "-1h0.001s");
	EQ(parsed(config_print_duration(INT64_MIN, text)), INT64_MIN);
	EQ(parsed(config_print_duration(INT64_MAX, text)), INT64_MAX);
}
