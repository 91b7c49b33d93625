/* SPDX-License-Identifier: Apache-2.0 */
/* Text with its length, that somebody else owns. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>

#include "base/types.h"

struct str {
	const char *at;		/* not ended by NUL; may be NULL if len is 0 */
	u32 len;
};
#define STR(literal) ((struct str){ literal, sizeof(literal) - 1 })

bool str_equal(struct str a, struct str b);
struct str str_of(const char *text);	/* empty of NULL */
bool str_is(struct str s, const char *text);
bool str_starts(struct str s, const char *with);
bool str_ends(struct str s, const char *with);

/* Without the blanks and tabs around it. */
struct str str_trim(struct str s);

/* Takes what stands before the first separator, all if there is none, and the separator off *rest. False at its end. */
bool str_cut(struct str *rest, char separator, struct str *ret_part);

/* By their bytes, the shorter first. */
int str_compare(struct str a, struct str b);

/* What follows the last slash; all of it if there is none, or nothing follows. */
struct str str_base_name(struct str path);

#endif
