/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What groups of a tree's frames have: by themselves, and with all that they
 * call. A group that calls itself counts once.
 */
#ifndef ANALYSIS_SUMS_H
#define ANALYSIS_SUMS_H

#include "analysis/calltree.h"

struct sum {
	u32 frame;		/* the last of its frames */
	u32 open;		/* how often it is on the way down to where we are; 0 in the end */
	s64 self, total;
};

struct sums {
	const struct calltree *tree;
	u32 *of_frame;		/* the group of each frame */
	struct sum *at;		/* the first is that of the root */
	u32 count;
};

/* Of a node and all below it. Frames whose keys are equal are one group. -ENOMEM, -E2BIG; done in any case. */
typedef struct frame sums_key(const struct frame *frame);
int sums_init(struct sums *sums, const struct calltree *tree, u32 root, sums_key *key);
void sums_done(struct sums *sums);

/* For qsort(): most of its own first, then most in all. */
int sum_compare(const void *a, const void *b);

#endif
