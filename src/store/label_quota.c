// SPDX-License-Identifier: Apache-2.0
#include "store/label_quota.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define USES_MAX (1u << 20)
#define USE_BYTES_MAX ((size_t)32 << 20)
#define OTHERS_MAX 16		/* of an owner: sets of keys whose values are [other] */

void label_quota_init(struct label_quota *quota, u32 share)
{
	*quota = (struct label_quota){ .share = share };
	arena_init(&quota->arena, USE_BYTES_MAX);
	interner_init(&quota->uses, &quota->arena, USES_MAX);
}

void label_quota_done(struct label_quota *quota)
{
	interner_done(&quota->uses);
	arena_done(&quota->arena);
	free(quota->owners);
	quota->owners = NULL;
}

/* A set that the owner has, or may have: 1; 0 if it may not. `used` of at most `max` counts those that it has. */
static int take(struct label_quota *quota, u32 owner, const struct label *labels, u32 count, u32 max, u32 *used,
		struct label_sets *sets, u32 *ret_set)
{
	u32 use[] = { owner, 0 };
	bool is_new = false;
	int r = label_sets_find(sets, labels, count, &use[1]);

	if (r == 0 && interner_find(&quota->uses, use, sizeof(use)) != INTERNER_NONE) {
		*ret_set = use[1];
		return 1;
	}
	if (*used >= max)
		return 0;
	r = label_sets_add(sets, labels, count, &use[1]);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	if (interner_add(&quota->uses, use, sizeof(use), &is_new) == INTERNER_NONE)
		return 0;
	*used += is_new;
	*ret_set = use[1];
	return 1;
}

int label_quota_add(struct label_quota *quota, u32 owner, const struct label *labels, u32 count,
		    struct label_sets *sets, u32 *ret_set)
{
	struct label others[LABELS_MAX];
	struct label_owner *own;
	int r;

	*ret_set = 0;
	if (array_reserve(&quota->owners, &quota->cap, owner + 1, sizeof(*quota->owners)) < 0)
		return -ENOMEM;
	own = &quota->owners[owner];
	r = take(quota, owner, labels, count, quota->share, &own->sets, sets, ret_set);
	if (r != 0)
		return r < 0 ? r : 0;
	quota->past_limit++;
	for (u32 i = 0; i < count && i < LABELS_MAX; i++)
		others[i] = (struct label){ labels[i].key, STR(LABEL_OTHER) };
	r = take(quota, owner, others, count, OTHERS_MAX, &own->others, sets, ret_set);
	return r < 0 ? r : 0;
}
