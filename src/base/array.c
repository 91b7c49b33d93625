// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"

#define CAP_MIN 64

int array_reserve(void *array, uint32_t *cap, uint32_t need, size_t element_bytes)
{
	uint32_t larger = *cap ? *cap : CAP_MIN;
	char *grown;
	int r;

	if (need <= *cap)
		return 0;
	while (larger < need) {
		if (larger > UINT32_MAX / 2)
			return -ENOMEM;
		larger *= 2;
	}
	r = budget_scratch((larger - *cap) * element_bytes);
	if (r < 0)
		return r;
	grown = reallocarray(*(void **)array, larger, element_bytes);
	if (!grown)
		return -ENOMEM;
	memset(grown + *cap * element_bytes, 0, (larger - *cap) * element_bytes);
	*(void **)array = grown;
	*cap = larger;
	return 0;
}

int array_grow(void *array, uint32_t *cap, uint32_t count, uint32_t max_count, size_t entry_bytes)
{
	int r = count < *cap || count >= max_count ? 0 :
		budget_scratch((*cap ? *cap : ARRAY_GROW_MIN) * entry_bytes);

	return r < 0 ? r : array_grow_kept(array, cap, count, max_count, entry_bytes);
}

int array_grow_kept(void *array, uint32_t *cap, uint32_t count, uint32_t max_count, size_t entry_bytes)
{
	uint32_t want = *cap ? *cap * 2 : ARRAY_GROW_MIN;
	void *grown;

	if (count < *cap)
		return 0;
	if (count >= max_count)
		return -E2BIG;
	if (want > max_count)
		want = max_count;
	grown = reallocarray(*(void **)array, want, entry_bytes);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*cap = want;
	return 0;
}

void *array_calloc(size_t count, size_t element_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, element_bytes, &bytes) || budget_scratch(bytes) < 0)
		return NULL;
	return calloc(count, element_bytes);
}
