/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile cut along its resources: those of equal keys are a part, such as all processes of a service.
 *
 * Parts borrow from the whole, its tables too: split_copy() makes one that has only what it refers to.
 */
#ifndef PROFILE_SPLIT_H
#define PROFILE_SPLIT_H

#include "profile/profile.h"

struct split_ops {
	/* False: the resource is in no part. The key is borrowed until profile_split() returns. */
	bool (*key)(void *arg, const struct profile_resource *resource, struct str *ret_key);
	int (*part)(void *arg, struct str key, const struct profile *part);	/* other than 0 ends it */
};

/* Parts come in the order of their keys, resources in their own. -ENOMEM, or what part() returned. */
int profile_split(const struct profile *profile, const struct split_ops *ops, void *arg);

/* -ENOMEM, -E2BIG. */
int split_copy(const struct profile *part, struct profile **ret_copy);

#endif
