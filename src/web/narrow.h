/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame with less in it: only stacks with a certain function, none with another, frames taken out, direct recursion
 * as one frame. Values are moved or dropped with their stacks, never estimated: what is left is exact.
 */
#ifndef WEB_NARROW_H
#define WEB_NARROW_H

#include <stdbool.h>

#include "base/types.h"

struct buf;
struct flame;
struct question;

#define NARROW_FOCUS_MAX 8

struct narrow {
	const char *focus[NARROW_FOCUS_MAX];	/* texts as matcher.h has them: a stack must have all of them */
	u32 focus_count;
	const struct question *question;	/* whose "ignore" and "hide" count, any number of them */
	bool collapse;
	bool any;
};

/* -EINVAL and a sentence. The question is borrowed. */
int narrow_read(struct narrow *narrow, const struct question *question, struct buf *why);

/* Takes *flame's place, if anything is to be narrowed at all. -EINVAL and a sentence; -ENOMEM, -E2BIG. */
int narrow_flame(const struct narrow *narrow, struct flame **flame, struct buf *why);

/* What the outermost functions that a text means have in all, and how many nodes that are meant there are. */
struct narrow_found {
	s64 total;
	u32 nodes;
};
int narrow_find(const struct flame *flame, const char *text, struct narrow_found *ret_found, struct buf *why);

#endif
