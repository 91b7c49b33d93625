/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame as JSON, from a node on, with at most nodes_max nodes: the smallest
 * go into one "(other)" beside their siblings, so that widths stay right.
 *
 *	{"unit", "period", "total", "root": total of the whole, "coarse", "from", "to",
 *	 "frames": [[name, file, exe, type, line, inline, build id, address], ...],
 *	 "nodes": [frame, total, self, number of children, ...]}	each node before its children
 */
#ifndef WEB_FLAME_JSON_H
#define WEB_FLAME_JSON_H

#include "abi.h"
#include "store/flame.h"

struct buf;
struct links;

/* compared: what each node has in another range, a fifth number of it; NULL: none. -ENOMEM, -E2BIG. */
int flame_json(const struct flame *flame, const struct links *links, u32 root, u32 nodes_max, const s64 *compared,
	       struct buf *out);

#endif
