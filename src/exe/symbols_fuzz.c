// SPDX-License-Identifier: Apache-2.0
#include "exe/symbols.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block that passes the check can be used in all ways. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) struct symbols *symbols = malloc(size + 1);
	size_t used = 0;

	if (!symbols)
		return 0;
	memcpy(symbols, data, size);
	if (symbols_check(symbols, size) < 0)
		return 0;
	for (u32 i = 0; i < symbols->count; i++) {
		const struct symbol *symbol = symbols_find(symbols, symbols_array(symbols)[i].ea);

		if (!symbol)
			abort();
		used += strlen(symbols_name(symbols, symbol));
	}
	return used == SIZE_MAX;
}
