// SPDX-License-Identifier: Apache-2.0
#include "store/label_rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "store/label_quota.h"
#include "store/labels.h"

/* What is no label, unless it is asked for. */
static const char *const never[] = { "wick.*", "lock.*", "waker.*", "*trace[_ -]id", "*traceid", "*span[_ -]id",
				     "*spanid", "*request[_ -]id", "*requestid" };
static const struct label_patterns default_drop = { sizeof(never) / sizeof(never[0]), never };

static int copy_patterns(const struct label_patterns *from, struct label_patterns *ret_copy)
{
	const char **at = calloc((size_t)from->count + 1, sizeof(*at));

	*ret_copy = (struct label_patterns){ .at = at };
	for (u32 i = 0; at && i < from->count; i++) {
		at[i] = strdup(from->at[i]);
		if (!at[i])
			return -ENOMEM;
		ret_copy->count++;
	}
	return at ? 0 : -ENOMEM;
}

static void patterns_done(struct label_patterns *patterns)
{
	for (u32 i = 0; i < patterns->count; i++)
		free((char *)patterns->at[i]);
	free((void *)patterns->at);
	*patterns = (struct label_patterns){ 0 };
}

int label_rules_copy(const struct label_rules *rules, struct label_rules *ret_copy)
{
	int r;

	*ret_copy = (struct label_rules){ .max_sets = rules->max_sets ? rules->max_sets : LABEL_QUOTA_DEFAULT };
	r = copy_patterns(&rules->keep, &ret_copy->keep);
	return r < 0 ? r : copy_patterns(&rules->drop, &ret_copy->drop);
}

void label_rules_done(struct label_rules *copy)
{
	patterns_done(&copy->keep);
	patterns_done(&copy->drop);
}

static bool matches(const struct label_patterns *patterns, const char *name, int flags)
{
	for (u32 i = 0; i < patterns->count; i++)
		if (fnmatch(patterns->at[i], name, flags) == 0)
			return true;
	return false;
}

/* Has the store another place for it? */
static bool is_elsewhere(struct str key)
{
	for (u32 i = 0; i < STORE_LABEL_COUNT; i++)
		if (str_is(key, store_label_attribute(i)))
			return true;
	return str_is(key, "wait.reason");
}

bool label_rules_keep(const struct label_rules *rules, struct str key, bool is_text)
{
	char name[LABEL_KEY_BYTES_MAX + 1] = "";
	struct str called = label_name(key);

	if (!called.len || called.len > LABEL_KEY_BYTES_MAX || is_elsewhere(key))
		return false;
	memcpy(name, called.at, called.len);
	if (matches(&rules->drop, name, 0))
		return false;
	return rules->keep.count ? matches(&rules->keep, name, 0) :
				   is_text && !matches(&default_drop, name, FNM_CASEFOLD);
}
