// SPDX-License-Identifier: Apache-2.0
#include "base/largest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Steps of growing width: one below zero, one for each small value, then so many for each power of two. */
#define STEP_BITS 4
#define SMALL (1 << STEP_BITS)
#define STEPS (64u << STEP_BITS)

/* Larger values are in the same step or a later one. */
static u32 step_of(s64 value)
{
	u32 power;

	if (value < SMALL)
		return value < 0 ? 0 : (u32)value + 1;
	power = 63 - (u32)__builtin_clzll((u64)value);
	return ((power - STEP_BITS + 1) << STEP_BITS | ((value >> (power - STEP_BITS)) & (SMALL - 1))) + 1;
}

/* By repeated partition. */
static s64 select_kth(s64 *at, u32 count, u32 k)
{
	u32 low = 0, high = count - 1;

	while (low < high) {
		s64 pivot = at[low + (high - low) / 2];
		u32 i = low, j = high;

		while (i <= j) {
			while (at[i] > pivot)
				i++;
			while (at[j] < pivot)
				j--;
			if (i <= j) {
				s64 swapped = at[i];

				at[i++] = at[j];
				at[j] = swapped;
				if (!j)
					break;
				j--;
			}
		}
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			break;
	}
	return at[k];
}

int kth_largest(const s64 *at, u32 count, u32 k, s64 *ret_value)
{
	_cleanup_(freep) s64 *inside = NULL;
	u32 counts[STEPS] = { 0 }, step = STEPS - 1, found = 0;

	for (u32 i = 0; i < count; i++)
		counts[step_of(at[i])]++;
	for (; step && k >= counts[step]; step--)
		k -= counts[step];
	if (step && step <= SMALL) {
		*ret_value = step - 1;
		return 0;
	}
	inside = reallocarray(NULL, (size_t)counts[step] + 1, sizeof(*inside));
	if (!inside)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++)
		if (step_of(at[i]) == step)
			inside[found++] = at[i];
	*ret_value = select_kth(inside, found, k);
	return 0;
}

int largest_init(struct largest *largest, const s64 *at, u32 count, u32 max)
{
	s64 last = 0;
	u32 above = 0;
	int r = max && count > max ? kth_largest(at, count, max - 1, &last) : 0;

	if (r < 0)
		return r;
	last = last > 0 ? last : 0;
	for (u32 i = 0; i < count; i++)
		above += at[i] > last;
	*largest = (struct largest){ last, last ? max - above : 0 };
	return 0;
}

bool largest_takes(struct largest *largest, s64 value)
{
	if (value != largest->value)
		return value > largest->value;
	if (!largest->equals)
		return false;
	largest->equals--;
	return true;
}
