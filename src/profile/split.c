// SPDX-License-Identifier: Apache-2.0
#include "profile/split.h"

#include <errno.h>
#include <string.h>

#include "profile/any.h"
#include "profile/append.h"

struct member {
	struct str key;
	const struct profile_resource *resource;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	u32 len = x->key.len < y->key.len ? x->key.len : y->key.len;
	int r = len ? memcmp(x->key.at, y->key.at, len) : 0;

	if (r || x->key.len != y->key.len)
		return r ? r : x->key.len < y->key.len ? -1 : 1;
	return x->resource < y->resource ? -1 : x->resource > y->resource;
}

int profile_split(const struct profile *profile, const struct split_ops *ops, void *arg)
{
	_cleanup_(freep) struct member *members = calloc(profile->resources.count + 1, sizeof(*members));
	_cleanup_(freep) struct profile_resource *resources = calloc(profile->resources.count + 1, sizeof(*resources));
	u32 count = 0;
	int r = 0;

	if (!members || !resources)
		return -ENOMEM;
	for (u32 i = 0; i < profile->resources.count; i++) {
		members[count].resource = &profile->resources.at[i];
		count += ops->key(arg, members[count].resource, &members[count].key);
	}
	qsort(members, count, sizeof(*members), compare_members);
	for (u32 i = 0; i < count && r == 0;) {
		struct profile part = *profile;
		struct str key = members[i].key;

		part.resources.at = resources;
		for (part.resources.count = 0; i < count && str_equal(members[i].key, key); i++)
			resources[part.resources.count++] = *members[i].resource;
		r = ops->part(arg, key, &part);
	}
	return r;
}

int split_copy(const struct profile *part, struct profile **ret_copy)
{
	_cleanup_(appender_freep) struct appender *appender = appender_new(part);
	_cleanup_(profile_freep) struct profile *copy = profile_new();
	u64 count;
	int r;

	if (!appender || !copy)
		return -ENOMEM;
	r = appender_next(appender, copy, ~0ull, &count);
	if (r < 0)
		return r;
	*ret_copy = TAKE(copy);
	return 0;
}
