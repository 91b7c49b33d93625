// SPDX-License-Identifier: Apache-2.0
#include "wire/sample_types.h"

#include <errno.h>
#include <string.h>

#include "profile/any.h"
#include "profile/profile.h"

#define NAMES_BYTES_MAX ((size_t)64 << 20)

void sample_types_done(struct sample_types *types)
{
	arena_done(&types->arena);
}

/* Is there a set whose ticks this type counts as time? */
static bool is_time_of_ticks(const struct profile *p, const struct profile_scope *scope, struct str type)
{
	for (u32 i = 0; i < scope->set_count; i++) {
		const struct profile_set *set = &scope->sets[i];

		if (set->period > 0 && str_equal(p->strings.at[set->period_type.type], type) &&
		    !str_equal(p->strings.at[set->sample_type.type], type) &&
		    str_equal(p->strings.at[set->sample_type.unit], STR("count")))
			return true;
	}
	return false;
}

static int add(struct sample_types *types, struct str type, bool first)
{
	char *name;

	/* Nobody could ask for it. */
	if (type.len && memchr(type.at, '\0', type.len))
		return 0;
	for (u32 i = 0; i < types->count; i++)
		if (str_equal(type, (struct str){ types->at[i], (u32)strlen(types->at[i]) }))
			return 0;
	if (types->count == SAMPLE_TYPES_MAX)
		return -E2BIG;
	name = arena_strndup(&types->arena, type.at ? type.at : "", type.len);
	if (!name)
		return arena_err(&types->arena);
	types->at[types->count++] = name;
	if (first) {
		memmove(types->at + 1, types->at, (types->count - 1) * sizeof(*types->at));
		types->at[0] = name;
	}
	return 0;
}

static int add_scope(struct sample_types *types, const struct profile *p, const struct profile_scope *scope)
{
	struct str preferred = any_text(keyvalue_find(scope->attributes, scope->attribute_count,
						      "pprof.scope.default_sample_type"));
	int r = 0;

	for (u32 i = 0; i < scope->set_count && r == 0; i++) {
		struct str type = p->strings.at[scope->sets[i].sample_type.type];

		if (!is_time_of_ticks(p, scope, type))
			r = add(types, type, preferred.len && str_equal(type, preferred));
	}
	return r;
}

int sample_types_init(struct sample_types *types, const struct profile *profile)
{
	int r = 0;

	types->count = 0;
	arena_init(&types->arena, NAMES_BYTES_MAX);
	for (u32 i = 0; i < profile->resources.count; i++)
		for (u32 s = 0; s < profile->resources.at[i].scope_count && r == 0; s++)
			r = add_scope(types, profile, &profile->resources.at[i].scopes[s]);
	return r;
}
