/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands out ranges of the numbers 0 .. total - 1, lowest first. The free ones
 * are kept as a sorted list without neighbours that touch.
 */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdint.h>

struct range {
	uint32_t first, count;
};

struct ranges {
	struct range *free;
	uint32_t free_count, cap;
	uint32_t left;		/* numbers that are free */
};

int ranges_init(struct ranges *ranges, uint32_t total);
void ranges_done(struct ranges *ranges);

/* The first number of a range of that many, or -ENOSPC, -ENOMEM. */
int64_t ranges_take(struct ranges *ranges, uint32_t count);

/* Takes back what was handed out. */
int ranges_give(struct ranges *ranges, uint32_t first, uint32_t count);

#endif
