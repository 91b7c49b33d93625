/* SPDX-License-Identifier: Apache-2.0 */
/* Other trees made from one or two: who calls a function, whom it calls, bottom up, two ranges compared; a profile. */
#ifndef ANALYSIS_RESHAPE_H
#define ANALYSIS_RESHAPE_H

#include "base/types.h"

struct calltree;
struct profile;

/* A function is its name and the file that it is of (frame_home()); home NULL: whichever that is. */
struct reshape_function {
	const char *name, *home;
};

/* What a function calls, over all places where it stands; the function is outermost. -ENOMEM, -E2BIG. */
int reshape_callees(const struct calltree *tree, const struct reshape_function *function, struct calltree **ret_tree);

/* Who calls it: the function is outermost, below it its callers, and theirs. */
int reshape_callers(const struct calltree *tree, const struct reshape_function *function, struct calltree **ret_tree);

/* From the functions that values are of to who calls them: bottom up. What stands for a label stays outermost. */
int reshape_inverted(const struct calltree *tree, struct calltree **ret_tree);

/* Both in one tree: the values are those of a, the base of each node is its total in b. */
int reshape_join(const struct calltree *a, const struct calltree *b, struct calltree **ret_tree);

/*
 * A sample for each node that has a value of its own; type: of them, NULL if that is not known. The outermost frames
 * are labels: each is a resource, which has it as the value of that attribute.
 */
int reshape_profile(const struct calltree *tree, const char *type, const char *attribute,
		    struct profile **ret_profile);

#endif
