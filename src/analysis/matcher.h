/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions a text means. The page's own script reads it in the same way (ui/match.js):
 *
 *	part		a part of the name, in capitals or not
 *	/expression/	a regular expression that matches somewhere in the name, in capitals or not
 *	kind=kernel	frames of that kind
 *	file=libc.so.6	frames of the executable, library or script of that name (frame_home()); of a path, of that
 *			file and no other
 *	file=prog /expression/	both
 */
#ifndef ANALYSIS_MATCHER_H
#define ANALYSIS_MATCHER_H

#include <stdbool.h>

#include "base/types.h"

struct buf;
struct calltree;
struct str;

#define MATCHER_TIME_MAX_NS 2000000000ull	/* of all the names of a tree */

/*
 * Sets `bit` in the mark of every frame that is meant; the root and the values of labels never are. -EINVAL: the
 * expression is wrong or takes too long, and `why` says so.
 */
int matcher_mark(const char *text, const struct calltree *tree, u16 bit, u16 *marks, struct buf *why);

#endif
