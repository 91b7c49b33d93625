/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a flame, those with the most of their own first:
 *
 *	{"total", "count", "rows": [[name, exe, file, type, self, total], ...]}
 *
 * A function that calls itself counts once in its total.
 */
#ifndef WEB_TOP_H
#define WEB_TOP_H

#include "abi.h"

struct buf;
struct flame;
struct links;

/* part: only names that contain it; "": all. -ENOMEM, -E2BIG. */
int top_json(const struct flame *flame, const struct links *links, const char *part, u32 first, u32 rows_max,
	     struct buf *out);

#endif
