// SPDX-License-Identifier: Apache-2.0
#include "extensions/gotime.h"

#include "test.h"

TEST(gotime_prints_durations_as_go_does)
{
	static const struct { u64 ns; const char *want; } cases[] = {
		{ 0, "0s" }, { 1, "1ns" }, { 1500, "1.5µs" }, { 250000000, "250ms" }, { 1000000000, "1s" },
		{ 1200000000, "1.2s" }, { 62345000001, "1m2.345000001s" }, { 3600000000000, "1h0m0s" },
		{ 18446744073709551615ull, "5124095h34m33.709551615s" },
	};
	char text[GOTIME_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		STREQ(gotime_duration(text, cases[i].ns), cases[i].want);
}

TEST(gotime_prints_times_as_go_does)
{
	char text[GOTIME_MAX];

	STREQ(gotime_stamp(text, 1663131734173000000), "2022-09-14T05:02:14.173Z");
	STREQ(gotime_stamp(text, 1663131734000000001), "2022-09-14T05:02:14.000000001Z");
	STREQ(gotime_stamp(text, 0), "1970-01-01T00:00:00Z");
}
