/* SPDX-License-Identifier: Apache-2.0 */
/* What the replace_ editors have in common: texts, patterns, and a function and a format for what is put in. */
#ifndef OTTL_REPLACE_H
#define OTTL_REPLACE_H

#include "ottl/expr.h"

struct replace {
	const struct call *call;	/* its function may be NULL */
	struct str replacement;
	const struct any *format;	/* or NULL */
};

/* The text with every match of the pattern replaced: 1 and the result, or 0 if nothing matched; -errno. */
int replace_pattern_in(const struct replace *replace, struct ottl_run *run, struct str text, struct str *ret_text);

/* The replacement if the whole text matches: 1 and the result, 0, or -errno. */
int replace_whole(const struct replace *replace, struct ottl_run *run, struct str text, struct str *ret_text);

/* A sentence if a format is not one %s and nothing else, or NULL; NULL is no format. */
const char *replace_check_format(const struct any *format);

#endif
