/* SPDX-License-Identifier: Apache-2.0 */
/* A number kept within bounds. */
#ifndef BASE_BOUNDS_H
#define BASE_BOUNDS_H

#include "base/types.h"

static inline u64 at_least(u64 value, u64 min)
{
	return value > min ? value : min;
}

static inline u64 at_most(u64 value, u64 max)
{
	return value < max ? value : max;
}

#endif
