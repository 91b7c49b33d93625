// SPDX-License-Identifier: Apache-2.0
#include "symbol/known_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void known_functions_done(struct known_functions *known)
{
	free(known->at);
	*known = (struct known_functions){ 0 };
}

/* How many start at or below the address. */
static u32 starts_up_to(const struct known_functions *known, u64 ea)
{
	u32 low = 0, high = known->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (known->at[middle].ea <= ea)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void known_functions_add(struct known_functions *known, const struct known_function *function)
{
	u32 i = starts_up_to(known, function->ea);

	if (i && known->at[i - 1].ea == function->ea) {
		known->at[i - 1] = *function;
		return;
	}
	if (known->count == KNOWN_FUNCTIONS_MAX)
		known->count = i = 0;
	if (array_reserve(&known->at, &known->cap, known->count + 1, sizeof(*known->at)) < 0)
		return;
	memmove(known->at + i + 1, known->at + i, (known->count - i) * sizeof(*known->at));
	known->at[i] = *function;
	known->count++;
}

const struct known_function *known_functions_find(const struct known_functions *known, u64 ea)
{
	u32 i = starts_up_to(known, ea);
	const struct known_function *f = i ? &known->at[i - 1] : NULL;

	return f && ea - f->ea < f->bytes ? f : NULL;
}
