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
bool str_is(struct str s, const char *text);

/* What follows the last slash; all of it if there is none, or nothing follows. */
struct str str_base_name(struct str path);

#endif
