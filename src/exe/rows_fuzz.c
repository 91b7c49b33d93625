// SPDX-License-Identifier: Apache-2.0
#include "exe/rows.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block that passes the check can be used: every page, row and rule. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rows *rows = malloc(size ? size : 1);
	u64 sum = 0;

	if (!rows)
		return 0;
	memcpy(rows, data, size);
	if (rows_check(rows, size) == 0) {
		for (u32 p = 0; p < rows->page_count; p++) {
			u64 ea = (u64)rows_pages(rows)[p].number << ROWS_PAGE_SHIFT;

			for (u32 low = 0; low < 0x10000; low += 0x1f)
				sum += rows_find(rows, ea + low)->kind;
		}
		if (sum == UINT64_MAX)
			abort();
	}
	free(rows);
	return 0;
}
