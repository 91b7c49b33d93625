/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a flame in a certain order, a part of the list at a time:
 *
 *	{"unit", "period", "total", "count", "rows": [[name, exe, file, type, self, total], ...]}
 *
 * A function that calls itself counts once in its total. Compared with another flame there is "base_total", too, and
 * behind the values of a row those that the function has there.
 */
#ifndef WEB_TOP_H
#define WEB_TOP_H

#include "base/types.h"

struct buf;
struct calltree;

/*
 * Numbers come largest first, texts by their letters; of equals the one with more of its own. A change is of the share
 * that a function has itself.
 */
#define TOP_ORDERS(X) \
	X(SELF, "self") X(TOTAL, "total") X(NAME, "name") X(FILE, "file") X(KIND, "kind") X(CHANGE, "change")
enum top_order {
#define X(id, text) TOP_BY_##id,
	TOP_ORDERS(X)
#undef X
	TOP_ORDER_COUNT,
};

struct top_options {
	const char *part;	/* only functions that this means, see matcher.h; "": all */
	enum top_order order;
	u32 first, rows_max;
	u32 root;		/* only what is below that node, and itself */
	const struct calltree *base;	/* or NULL */
};

/* By its name; "" is the first. -EINVAL and a sentence. */
int top_order_read(const char *name, enum top_order *ret_order, struct buf *why);

/* -EINVAL and a sentence if `part` is wrong; -ENOMEM, -E2BIG. */
int top_json(const struct calltree *flame, const struct top_options *options, struct buf *out, struct buf *why);

#endif
