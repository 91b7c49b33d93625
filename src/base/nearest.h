/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": which of a few words is closest to a mistyped one. No state, no allocation. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

struct nearest {
	const char *word;	/* what was typed */
	const char *best;	/* the closest candidate, or NULL if none is close enough to suggest */
	unsigned distance;
};

void nearest_init(struct nearest *nearest, const char *word);

/* Offers a candidate; borrowed, it must outlive the use of best. */
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
