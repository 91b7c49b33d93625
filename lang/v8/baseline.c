// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/baseline.h"

#include <stdint.h>
#include <string.h>

#include "lang/v8/positions.h"

/* Prefixes; those for debuggers mean the same. */
enum { WIDE, EXTRA_WIDE, DEBUG_WIDE, DEBUG_EXTRA_WIDE, PREFIXES };

void baseline_sizes_set(struct baseline_sizes *sizes, const u8 *array, size_t bytes)
{
	sizes->count = 0;
	if (bytes % BASELINE_SCALES || bytes / BASELINE_SCALES > BASELINE_BYTECODES)
		return;
	sizes->count = (u32)(bytes / BASELINE_SCALES);
	for (u32 i = 0; i < BASELINE_SCALES; i++)
		memcpy(sizes->of[i], array + (size_t)i * sizes->count, sizes->count);
}

/* The length of a bytecode with its prefix; 0 if it is none. */
static u32 length_of(const struct baseline_sizes *sizes, const u8 *at, size_t bytes)
{
	u32 prefix = bytes && at[0] < PREFIXES, scale = prefix ? 1 + at[0] % 2 : 0;

	if (bytes <= prefix || at[prefix] >= sizes->count || !sizes->of[scale][at[prefix]])
		return 0;
	return prefix + sizes->of[scale][at[prefix]];
}

s64 baseline_bytecode(const struct baseline_sizes *sizes, const u8 *bytecode, size_t bytecode_bytes, const u8 *table,
		      size_t table_bytes, u32 code_offset)
{
	const u8 *end = table + table_bytes;
	u64 code_end, code_bytes;
	s64 offset = -1;	/* where the function is entered */
	size_t next = 0;

	if (!positions_number(&table, end, &code_end))
		return -1;
	while (code_end <= code_offset) {
		u32 length = next < bytecode_bytes ? length_of(sizes, bytecode + next, bytecode_bytes - next) : 0;

		if (!length || !positions_number(&table, end, &code_bytes) || code_bytes > UINT32_MAX)
			return -1;
		offset = (s64)next;
		next += length;
		code_end += code_bytes;
	}
	return offset;
}
