// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

#define NEAREST_LEN_MAX 48

void nearest_init(struct nearest *nearest, const char *word)
{
	/* One typo in three letters, and never more than three: beyond that a suggestion is a guess. */
	size_t allowed = 1 + strlen(word) / 3;

	*nearest = (struct nearest){ .word = word, .distance = (allowed > 3 ? 3 : (unsigned)allowed) + 1 };
}

static unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
static unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][NEAREST_LEN_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *spare = before;

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			now[j] = min(min(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = min(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[b_len];
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	size_t word_len = strlen(nearest->word), len = strlen(candidate);
	unsigned distance;

	if (word_len > NEAREST_LEN_MAX || len > NEAREST_LEN_MAX)
		return;
	/* A beginning is as good as one typo: "freq" for "frequency". */
	if (word_len >= 2 && !strncmp(candidate, nearest->word, word_len))
		distance = 1;
	else
		distance = edit_distance(nearest->word, word_len, candidate, len);
	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->best = candidate;
	}
}
