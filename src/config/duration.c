// SPDX-License-Identifier: Apache-2.0
#include "config/duration.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ULL
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define FRACTION_MAX 1000000000000000ULL	/* digits past these are less than a nanosecond of an hour */

static const struct {
	const char *name;
	u64 ns;
} units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "\xc2\xb5s", 1000 },	/* micro sign */
	{ "\xce\xbcs", 1000 },	/* Greek mu */
	{ "ms", 1000000 },
	{ "s", SECOND },
	{ "m", MINUTE },
	{ "h", HOUR },
};

static const char *parse_whole(const char *text, u64 *ret_value)
{
	u64 value = 0;

	for (; isdigit((unsigned char)*text); text++) {
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
			return NULL;
	}
	*ret_value = value;
	return text;
}

static const char *parse_fraction(const char *text, u64 *ret_value, u64 *ret_scale)
{
	*ret_value = 0;
	*ret_scale = 1;
	for (; isdigit((unsigned char)*text); text++) {
		if (*ret_scale >= FRACTION_MAX)
			continue;
		*ret_value = *ret_value * 10 + (*text - '0');
		*ret_scale *= 10;
	}
	return text;
}

static const char *parse_unit(const char *text, u64 *ret_ns)
{
	size_t len = strcspn(text, "0123456789.");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == len && !strncmp(units[i].name, text, len)) {
			*ret_ns = units[i].ns;
			return text + len;
		}
	}
	return NULL;
}

/* One number and its unit, added to *total. */
static int parse_part(const char **text, u64 *total)
{
	u64 whole, fraction = 0, scale = 1, unit, ns;
	const char *start = *text, *at = parse_whole(start, &whole);
	int digits;

	if (!at)
		return -ERANGE;
	digits = at != start;
	if (*at == '.') {
		const char *end = parse_fraction(at + 1, &fraction, &scale);

		digits |= end != at + 1;
		at = end;
	}
	if (!digits)
		return -EINVAL;
	at = parse_unit(at, &unit);
	if (!at)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &ns) ||
	    __builtin_add_overflow(ns, (u64)((unsigned __int128)fraction * unit / scale), &ns) ||
	    __builtin_add_overflow(*total, ns, total))
		return -ERANGE;
	*text = at;
	return 0;
}

int config_parse_duration(const char *text, s64 *ret_ns)
{
	bool negative = *text == '-';
	u64 total = 0;

	if (*text == '-' || *text == '+')
		text++;
	if (!strcmp(text, "0")) {
		*ret_ns = 0;
		return 0;
	}
	if (!*text)
		return -EINVAL;
	while (*text) {
		int r = parse_part(&text, &total);

		if (r < 0)
			return r;
	}
	if (total > (u64)INT64_MAX + negative)
		return -ERANGE;
	*ret_ns = negative ? (s64)(0 - total) : (s64)total;
	return 0;
}

/* A number with up to nine decimals, none of them a zero at the end. */
static void print_decimal(char *text, size_t size, u64 value, u64 unit, const char *name)
{
	char fraction[16] = "";
	size_t len;

	if (value % unit) {
		int digits = snprintf(NULL, 0, "%llu", (unsigned long long)unit) - 1;

		len = snprintf(fraction, sizeof(fraction), ".%0*llu", digits, (unsigned long long)(value % unit));
		while (fraction[len - 1] == '0')
			fraction[--len] = '\0';
	}
	snprintf(text, size, "%llu%s%s", (unsigned long long)(value / unit), fraction, name);
}

const char *config_print_duration(s64 ns, char text[DURATION_TEXT_MAX])
{
	static const struct {
		u64 below, unit;
		const char *name;
	} small[] = { { 1000, 1, "ns" }, { 1000000, 1000, "us" }, { 1000000000, 1000000, "ms" } };
	u64 rest = ns < 0 ? 0 - (u64)ns : (u64)ns;
	int len = snprintf(text, DURATION_TEXT_MAX, "%s", ns < 0 ? "-" : ns ? "" : "0s");

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]) && rest; i++) {
		if (rest < small[i].below) {
			print_decimal(text + len, DURATION_TEXT_MAX - len, rest, small[i].unit, small[i].name);
			return text;
		}
	}
	if (rest >= HOUR)
		len += snprintf(text + len, DURATION_TEXT_MAX - len, "%lluh", (unsigned long long)(rest / HOUR));
	rest %= HOUR;
	if (rest >= MINUTE)
		len += snprintf(text + len, DURATION_TEXT_MAX - len, "%llum", (unsigned long long)(rest / MINUTE));
	rest %= MINUTE;
	if (rest)
		print_decimal(text + len, DURATION_TEXT_MAX - len, rest, SECOND, "s");
	return text;
}
