/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree of a profile's default sample type, for those who draw flame
 * graphs. Children are linked by name.
 *
 * At most FLAMETREE_NODES_MAX nodes; more are -E2BIG.
 */
#ifndef WIRE_FLAMETREE_H
#define WIRE_FLAMETREE_H

#include "analysis/calltree.h"
#include "analysis/summary.h"

struct buf;

#define FLAMETREE_NODES_MAX (32u << 20)

struct flametree {
	struct frames frames;
	struct summary *summary;
	struct calltree *calls;	/* its frame i + 1 is frame i of frames */
};

int flametree_init(struct flametree *tree, const struct profile *profile);
void flametree_done(struct flametree *tree);

/* Adds a value as people read it: "1.25 s", "3 samples", "17 MiB". */
void flametree_amount(const struct flametree *tree, s64 value, struct buf *out);

#endif
