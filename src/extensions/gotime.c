// SPDX-License-Identifier: Apache-2.0
#include "extensions/gotime.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000ull

/* Appends what is behind the point of value / unit: ".5", or nothing. */
static void add_fraction(char *text, u64 value, u64 unit)
{
	char digits[16];
	int len = 0;

	for (u64 rest = value % unit; rest && len < 15; rest = rest * 10 % unit)
		digits[len++] = (char)('0' + rest * 10 / unit);
	digits[len] = '\0';
	if (len)
		(void)snprintf(text + strlen(text), GOTIME_MAX - strlen(text), ".%s", digits);
}

static void add_unit(char *text, const char *unit)
{
	(void)snprintf(text + strlen(text), GOTIME_MAX - strlen(text), "%s", unit);
}

const char *gotime_stamp(char text[GOTIME_MAX], u64 unix_ns)
{
	time_t seconds = (time_t)(unix_ns / SECOND);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	(void)strftime(text, GOTIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	add_fraction(text, unix_ns, SECOND);
	add_unit(text, "Z");
	return text;
}

const char *gotime_duration(char text[GOTIME_MAX], u64 ns)
{
	static const struct { u64 ns; const char *unit; } units[] = { { 1000000, "ms" }, { 1000, "µs" }, { 1, "ns" } };
	u64 seconds = ns / SECOND, minutes = seconds / 60, hours = minutes / 60;

	for (int i = 0; ns && ns < SECOND && i < 3; i++) {
		if (ns < units[i].ns)
			continue;
		(void)snprintf(text, GOTIME_MAX, "%llu", ns / units[i].ns);
		add_fraction(text, ns, units[i].ns);
		add_unit(text, units[i].unit);
		return text;
	}
	text[0] = '\0';
	if (hours)
		(void)snprintf(text, GOTIME_MAX, "%lluh%llum%llu", hours, minutes % 60, seconds % 60);
	else if (minutes)
		(void)snprintf(text, GOTIME_MAX, "%llum%llu", minutes, seconds % 60);
	else
		(void)snprintf(text, GOTIME_MAX, "%llu", seconds);
	add_fraction(text, ns, SECOND);
	add_unit(text, "s");
	return text;
}
