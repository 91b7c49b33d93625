/* SPDX-License-Identifier: Apache-2.0 */
/* Other flames made from one or two: who calls a function and whom it calls, two ranges compared, a profile. */
#ifndef WEB_RESHAPE_H
#define WEB_RESHAPE_H

#include "base/types.h"

struct flame;
struct links;
struct profile;

/* What a function calls, over all places where it stands; the function is outermost. -ENOMEM, -E2BIG. */
int reshape_callees(const struct flame *flame, const struct links *links, const char *name, struct flame **ret_flame);

/* Who calls it: the function is outermost, below it its callers, and theirs. */
int reshape_callers(const struct flame *flame, const struct links *links, const char *name, struct flame **ret_flame);

/* Both in one tree: the values are those of a; of b each node's total comes in *ret_compared, to be freed. */
int reshape_join(const struct flame *a, const struct flame *b, struct flame **ret_flame, s64 **ret_compared);

/* A sample for each node that has a value of its own; type: of them, NULL if that is not known. */
int reshape_profile(const struct flame *flame, const char *type, struct profile **ret_profile);

#endif
