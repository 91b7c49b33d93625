/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a function that samples were taken at:
 *
 *	{"rows": [[file, line, self], ...], "unit", "self", "lined", "count"}
 *
 * the one with the most first; self: all that the function has itself, lined: as much of it as has a line, in that
 * unit.
 */
#ifndef WEB_LINES_H
#define WEB_LINES_H

#include "base/types.h"

struct buf;
struct profile;

struct lines_options {
	const char *function;
	const char *in;		/* its file, as frame_home() has it; NULL: of whatever file */
	u32 rows_max;
};

/* -ENOMEM, -E2BIG. */
int lines_json(const struct profile *profile, const struct lines_options *options, struct buf *out);

#endif
