/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame as JSON, from a node on, with at most nodes_max nodes: docs/api.md. The smallest are left out; what a node
 * misses by that is its "rest", so that widths stay right. A node's total is not written: it is what it has itself,
 * the rest, and the totals of its children.
 */
#ifndef WEB_FLAME_JSON_H
#define WEB_FLAME_JSON_H

#include "base/types.h"
#include "store/flame.h"

struct buf;
struct links;

/* compared: the total of each node in another range, written as its "base"; NULL: none. -ENOMEM, -E2BIG. */
int flame_json(const struct flame *flame, const struct links *links, u32 root, u32 nodes_max, const s64 *compared,
	       struct buf *out);

#endif
