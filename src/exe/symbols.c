// SPDX-License-Identifier: Apache-2.0
#include "exe/symbols.h"

#include <errno.h>
#include <string.h>

#include "exe/lang_file.h"

static int check_symbol(const struct symbols *symbols, u32 index)
{
	const struct symbol *symbol = &symbols_array(symbols)[index];

	if (symbol->name >= symbols->strings_bytes || !symbol->bytes || symbol->ea + symbol->bytes < symbol->ea ||
	    symbol->lang >= LANG_NUMBERS_MAX || symbol->clear_bytes > symbol->bytes)
		return -EBADMSG;
	return index && symbol[-1].ea >= symbol->ea ? -EBADMSG : 0;
}

int symbols_check(const struct symbols *symbols, size_t bytes)
{
	const char *strings;

	if (bytes < sizeof(*symbols) || memcmp(symbols->magic, SYMBOLS_MAGIC, sizeof(symbols->magic)))
		return -EBADMSG;
	if (symbols->bytes != bytes || symbols->count > SYMBOLS_MAX || !symbols->strings_bytes)
		return -EBADMSG;
	if (bytes - sizeof(*symbols) != symbols->count * sizeof(struct symbol) + symbols->strings_bytes)
		return -EBADMSG;
	/* Offset 0 is no name, and the last name ends. */
	strings = symbols_strings(symbols);
	if (strings[0] || strings[symbols->strings_bytes - 1])
		return -EBADMSG;
	for (u32 i = 0; i < symbols->count; i++)
		if (check_symbol(symbols, i) < 0)
			return -EBADMSG;
	return 0;
}

const struct symbol *symbols_find(const struct symbols *symbols, u64 ea)
{
	const struct symbol *at = symbols_array(symbols);
	u32 low = 0, high = symbols->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (at[middle].ea <= ea)
			low = middle + 1;
		else
			high = middle;
	}
	/* Outer ones lie before inner ones that have ended. */
	while (low--)
		if (ea - at[low].ea < at[low].bytes)
			return &at[low];
	return NULL;
}
