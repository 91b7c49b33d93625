// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "profile/any.h"
#include "wire/format.h"
#include "wire/pprof/pgo.h"
#include "wire/pprof/pprof.h"

/* ---- Of both ------------------------------------------------------------------------- */

static bool is_type(const struct profile *p, const struct profile_set *set, struct str type, struct str unit)
{
	return str_equal(p->strings.at[set->sample_type.type], type) &&
	       str_equal(p->strings.at[set->sample_type.unit], unit);
}

static bool is_ticks(const struct profile *p, const struct profile_set *set)
{
	return is_type(p, set, STR("samples"), STR("count"));
}

static bool is_time(const struct profile *p, const struct profile_set *set)
{
	return is_type(p, set, STR("cpu"), STR("nanoseconds"));
}

bool pgo_has_lines(const struct profile *profile)
{
	for (u32 i = 1; i < profile->locations.count; i++)
		for (u32 k = 0; k < profile->locations.at[i].line_count; k++) {
			const struct profile_line *line = &profile->locations.at[i].lines[k];

			if (line->line > 0 && profile->functions.at[line->function].start_line > 0)
				return true;
		}
	return false;
}

/* The first set that is of the kind, or NULL. */
static const struct profile_set *first_set(const struct profile *p,
					   bool (*is_kind)(const struct profile *p, const struct profile_set *set))
{
	for (u32 i = 0; i < p->resources.count; i++)
		for (u32 s = 0; s < p->resources.at[i].scope_count; s++)
			for (u32 k = 0; k < p->resources.at[i].scopes[s].set_count; k++)
				if (is_kind(p, &p->resources.at[i].scopes[s].sets[k]))
					return &p->resources.at[i].scopes[s].sets[k];
	return NULL;
}

const struct profile_set *pgo_each(const struct profile *p, void (*visit)(void *context, u32 stack, s64 value),
				   void *context)
{
	const struct profile_set *first = first_set(p, is_ticks);
	bool (*is_kind)(const struct profile *p, const struct profile_set *set) = first ? is_ticks : is_time;

	for (u32 i = 0; i < p->resources.count; i++)
		for (u32 s = 0; s < p->resources.at[i].scope_count; s++)
			for (u32 k = 0; k < p->resources.at[i].scopes[s].set_count; k++) {
				const struct profile_set *set = &p->resources.at[i].scopes[s].sets[k];

				for (u32 n = 0; is_kind(p, set) && n < set->sample_count; n++)
					visit(context, set->samples[n].stack, profile_sample_value(&set->samples[n]));
			}
	return first ? first : first_set(p, is_time);
}

/* ---- Go ------------------------------------------------------------------------------ */

static void add_value(void *context, u32 stack, s64 value)
{
	s64 *sums = context;

	sums[stack] = saturating_add(sums[stack], value);
}

/* One set of the sums as the only one of a profile, which shares the tables of another. */
static int encode_sums(const struct profile *profile, struct profile_set set, const s64 *sums, struct buf *out)
{
	_cleanup_(freep) struct profile_sample *samples = calloc(profile->stacks.count, sizeof(*samples));
	struct profile_scope scope = { .sets = &set, .set_count = 1 };
	struct profile_resource resource = { .scopes = &scope, .scope_count = 1 };
	struct profile bare = *profile;

	if (!samples)
		return -ENOMEM;
	set.samples = samples;
	set.sample_count = 0;
	set.attributes = (struct indices){ 0 };
	for (u32 i = 0; i < profile->stacks.count; i++)
		if (sums[i] > 0)
			samples[set.sample_count++] = (struct profile_sample){
				.stack = i, .values = &sums[i], .value_count = 1
			};
	bare.resources.at = &resource;
	bare.resources.count = 1;
	/* No sample has one, so no label is needed. */
	bare.attributes.count = 1;
	return pprof_encode(&bare, out);
}

int pgo_encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(freep) s64 *sums = calloc(profile->stacks.count, sizeof(*sums));
	const struct profile_set *set;

	if (!sums)
		return -ENOMEM;
	set = pgo_each(profile, add_value, sums);
	if (!set || !pgo_has_lines(profile))
		return -ENODATA;
	return encode_sums(profile, *set, sums, out);
}

const struct format_ops format_pgo = {
	.name = "pgo",
	.help = "for go build -pgo: pprof without labels",
	.content_type = "application/octet-stream",
	.suffixes = (const char *const[]){ ".pgo", NULL },
	.is_binary = true,
	.is_gzipped = true,
	.encode = pgo_encode,
};
