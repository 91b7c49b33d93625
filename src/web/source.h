/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a function with what each line of it has:
 *
 *	{"unit", "period", "all", "self", "total", "unknown": {"self", "total"}, "left_out": {"self", "total"},
 *	 "files": [{"file", "start", "lines": [[line, self, total], ...]}, ...],
 *	 "text": {"file", "path", "first", "lines": [...], "changed"}}
 *
 * self and total are the function's, as top.h has them: all lines together, what has no line, and what is left out
 * since there are too many. Files are as frames name them, the one with most first. The text is of one of them, around
 * the lines that have something; {"file", "why"} if it cannot be had.
 */
#ifndef WEB_SOURCE_H
#define WEB_SOURCE_H

#include "analysis/reshape.h"
#include "base/types.h"

struct buf;
struct source_options;

#define SOURCE_FILES_MAX 64
#define SOURCE_LINES_MAX 2000		/* of a file, with values */
#define SOURCE_TEXT_LINES_MAX 3000

struct source_question {
	struct reshape_function function;
	const char *file;		/* the one whose text is wanted, one of the function's; "": that with most */
	u64 from_ns;			/* a file that was changed after that may have other lines */
	const struct source_options *options;	/* NULL: no text */
};

/* -ENOENT and a sentence: the file is none of the function's; -ENOMEM, -E2BIG. */
int source_json(const struct profile *profile, const struct source_question *question, struct buf *out,
		struct buf *why);

#endif
