/* SPDX-License-Identifier: Apache-2.0 */
/* The k-th largest of many values, or so many of the largest, without sorting them all. */
#ifndef BASE_LARGEST_H
#define BASE_LARGEST_H

#include <stdbool.h>

#include "base/types.h"

/* k counts from 0 and is below count. -ENOMEM. */
int kth_largest(const s64 *at, u32 count, u32 k, s64 *ret_value);

/*
 * So many of the largest values above 0: all that are above `value`, and the first `equals` of those that are it. Asked
 * value by value, each once and always in the same order, largest_takes() says which.
 */
struct largest {
	s64 value;
	u32 equals;
};
int largest_init(struct largest *largest, const s64 *at, u32 count, u32 max);	/* -ENOMEM */
bool largest_takes(struct largest *largest, s64 value);

#endif
