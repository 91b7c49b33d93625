/* SPDX-License-Identifier: Apache-2.0 */
/* The k-th largest of many values, without sorting them all. */
#ifndef BASE_LARGEST_H
#define BASE_LARGEST_H

#include "base/types.h"

/* k counts from 0 and is below count. -ENOMEM. */
int kth_largest(const s64 *at, u32 count, u32 k, s64 *ret_value);

#endif
