/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call tree with less in it: only stacks with a certain function, none with another, frames taken out, direct
 * recursion as one frame. Values are moved or dropped with their stacks, never estimated: what is left is exact.
 */
#ifndef ANALYSIS_NARROW_H
#define ANALYSIS_NARROW_H

#include <stdbool.h>

#include "base/types.h"

struct buf;
struct frame;
struct calltree;

#define NARROW_FOCUS_MAX 8
#define NARROW_TEXTS_MAX 192

/* Only stacks with that function, none with it, without its frames. */
#define NARROW_RULES(X) X(FOCUS, "focus") X(IGNORE, "ignore") X(HIDE, "hide")
enum narrow_rule {
#define X(id, text) NARROW_##id,
	NARROW_RULES(X)
#undef X
	NARROW_RULE_COUNT,
};
extern const char *const narrow_rule_names[];

struct narrow {
	struct {
		enum narrow_rule rule;
		const char *text;	/* as matcher.h has it; a stack must have all that are to be in focus */
	} texts[NARROW_TEXTS_MAX];
	u32 count, focus_count;
	bool collapse;
	bool (*shape)(struct frame *frame);	/* makes it what it is in the result; false: it goes. NULL: all stay */
};

/* The text is borrowed. -EINVAL and a sentence: there are too many. */
int narrow_add(struct narrow *narrow, enum narrow_rule rule, const char *text, struct buf *why);

/* Whether anything is to be narrowed at all. */
bool narrow_any(const struct narrow *narrow);

/* Takes *tree's place, if anything is to be narrowed at all. -EINVAL and a sentence; -ENOMEM, -E2BIG. */
int narrow_calltree(const struct narrow *narrow, struct calltree **tree, struct buf *why);

/*
 * The same, and where the values of each node are now: its number + 1, 0 if they are dropped. The caller frees it; NULL
 * if nothing was narrowed.
 */
int narrow_calltree_map(const struct narrow *narrow, struct calltree **tree, u32 **ret_map, struct buf *why);

/*
 * What the rules say of each frame of a tree, in bits; marks has zeros for each of them. A stack has those of
 * all of its frames: is it left? -EINVAL and a sentence.
 */
int narrow_mark(const struct narrow *narrow, const struct calltree *tree, u16 *marks, struct buf *why);
bool narrow_leaves(const struct narrow *narrow, u16 marks);

/* Does the last frame of every stack that is left stay what it was? */
bool narrow_keeps_leaves(const struct narrow *narrow);

/* What the outermost functions that a text means have in all, and how many nodes that are meant there are. */
struct narrow_found {
	s64 total;
	u32 nodes;
};
int narrow_find(const struct calltree *tree, const char *text, struct narrow_found *ret_found, struct buf *why);

#endif
