/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the lines of a function have. A stack counts once, where the function is innermost in it, so that all lines
 * together have what the function has. Where no line is known of it there, as of callers in what a store gives back,
 * the stack counts at line 0 of its file.
 *
 * Values are as the profile has them, of all its sets: it is of one type. Borrows the profile, which must outlive it
 * unchanged.
 */
#ifndef ANALYSIS_LINE_SUMS_H
#define ANALYSIS_LINE_SUMS_H

#include "base/str.h"
#include "profile/table.h"

struct profile;
struct reshape_function;

#define LINE_NUMBER_MAX (1u << 30)	/* others are taken for unknown */

struct line_sum {
	u32 file;		/* string of the profile: of the source */
	u32 line;		/* 0: not known */
	u32 start;		/* where the function begins in that file; 0: not known */
	s64 self, total;
};

struct line_sums {
	struct table rows;	/* of struct line_sum */
	s64 all;		/* of all samples, whatever function they are of */
	struct str unit;	/* "" if there are several */
	s64 period_ns;		/* 0: not known, or there are several */
};

/* -ENOMEM, -E2BIG; done in any case. */
int line_sums_init(struct line_sums *sums, const struct profile *profile, const struct reshape_function *function);
void line_sums_done(struct line_sums *sums);

#endif
