// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/perf_map.h"

#include <stdbool.h>
#include <string.h>

#include "base/hex.h"
#include "lang/jit/code_table.h"

/* A hexadecimal number, with or without 0x, and the spaces behind it. */
static bool parse_number(const char **at, const char *end, u64 *ret_number)
{
	const char *p = *at;
	u32 digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (*ret_number = 0; p < end && hex_digit(*p) >= 0; p++, digits++)
		*ret_number = *ret_number << 4 | (u64)hex_digit(*p);
	if (!digits || digits > 16 || p == end || *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*at = p;
	return true;
}

static void parse_line(struct code_table *table, const char *at, const char *end)
{
	u64 start_va, bytes;

	if (parse_number(&at, end, &start_va) && parse_number(&at, end, &bytes))
		code_table_add(table, start_va, bytes, at, (size_t)(end - at), NULL, 0, 0);
}

size_t perf_map_parse(struct code_table *table, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		parse_line(table, at, newline);
		at = newline + 1;
	}
	return (size_t)(at - text);
}
