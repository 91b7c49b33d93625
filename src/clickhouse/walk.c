// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/walk.h"

static bool find_in(struct walk *walk, const struct profile_resource *resource, struct walk_sample *ret_sample)
{
	for (; walk->scope < resource->scope_count; walk->scope++, walk->set = 0) {
		const struct profile_scope *scope = &resource->scopes[walk->scope];

		for (; walk->set < scope->set_count; walk->set++, walk->sample = 0) {
			const struct profile_set *set = &scope->sets[walk->set];

			if (walk->sample >= set->sample_count)
				continue;
			*ret_sample = (struct walk_sample){ resource, scope, set, &set->samples[walk->sample] };
			return true;
		}
	}
	return false;
}

bool walk_sample(struct walk *walk, const struct profile *profile, struct walk_sample *ret_sample)
{
	for (; walk->resource < profile->resources.count; walk->resource++, walk->scope = 0) {
		if (find_in(walk, &profile->resources.at[walk->resource], ret_sample))
			return true;
	}
	return false;
}
