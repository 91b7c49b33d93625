// SPDX-License-Identifier: Apache-2.0
/*
 * Part of the mixed load: a C program without frame pointers whose stacks are
 * about 15 deep. It walks a tree of random numbers, and sorts what it finds by
 * libc's qsort, which calls back.
 *
 *	sorter [SECONDS]	0 or nothing: until killed
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 3
#define LEAF_NUMBERS 64

static volatile uint64_t sink;

static uint64_t scramble(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	return x ^ x >> 33;
}

__attribute__((noipa)) static int compare(const void *a, const void *b)
{
	uint64_t x = scramble(*(const uint64_t *)a), y = scramble(*(const uint64_t *)b);

	return (x > y) - (x < y);
}

__attribute__((noipa)) static uint64_t leaf(uint64_t seed)
{
	uint64_t numbers[LEAF_NUMBERS];

	for (int i = 0; i < LEAF_NUMBERS; i++)
		numbers[i] = seed = scramble(seed + i);
	qsort(numbers, LEAF_NUMBERS, sizeof(*numbers), compare);
	return numbers[LEAF_NUMBERS / 2];
}

__attribute__((noipa)) static uint64_t node(uint64_t seed, int depth)
{
	if (depth == 0)
		return leaf(seed);
	return node(scramble(seed), depth - 1) * 3 ^ node(seed + 1, depth - 1);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint64_t seed = 1;; seed++) {
		sink = node(seed, DEPTH);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (seconds && now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9 >= seconds)
			return 0;
	}
}
