/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame as JSON, from a node on, with at most nodes_max nodes: docs/api.md. The smallest are left out; what a node
 * misses by that is its "rest", so that widths stay right. A node's total is not written: it is what it has itself,
 * the rest, and the totals of its children.
 */
#ifndef WEB_FLAME_JSON_H
#define WEB_FLAME_JSON_H

#include "base/types.h"
#include "analysis/calltree.h"

struct buf;

/* The flame is linked; what it is compared with is written as "base". -ENOMEM, -E2BIG. */
int flame_json(const struct calltree *flame, u32 root, u32 nodes_max, struct buf *out);

#endif
