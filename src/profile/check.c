// SPDX-License-Identifier: Apache-2.0
/* profile_check(): every index in range, every table's first row zero. */
#include <errno.h>
#include <string.h>

#include "profile/profile.h"

static bool indices_below(struct indices list, u32 limit)
{
	u32 highest = 0;

	for (u32 i = 0; i < list.count; i++)
		highest = list.at[i] > highest ? list.at[i] : highest;
	return highest < limit;
}

static bool mappings_ok(const struct profile *p)
{
	const struct profile_mapping *first = &p->mappings.at[0];

	for (u32 i = 0; i < p->mappings.count; i++)
		if (p->mappings.at[i].filename >= p->strings.count ||
		    !indices_below(p->mappings.at[i].attributes, p->attributes.count))
			return false;
	return !first->start_va && !first->limit_va && !first->file_offset && !first->filename &&
	       !first->attributes.count;
}

static bool lines_ok(const struct profile *p, const struct profile_location *l)
{
	for (u32 i = 0; i < l->line_count; i++)
		if (l->lines[i].function >= p->functions.count)
			return false;
	return true;
}

static bool locations_ok(const struct profile *p)
{
	const struct profile_location *first = &p->locations.at[0];

	for (u32 i = 0; i < p->locations.count; i++)
		if (p->locations.at[i].mapping >= p->mappings.count || !lines_ok(p, &p->locations.at[i]) ||
		    !indices_below(p->locations.at[i].attributes, p->attributes.count))
			return false;
	return !first->mapping && !first->address && !first->line_count && !first->attributes.count;
}

static bool functions_ok(const struct profile *p)
{
	const struct profile_function *first = &p->functions.at[0];

	for (u32 i = 0; i < p->functions.count; i++) {
		const struct profile_function *f = &p->functions.at[i];

		if (f->name >= p->strings.count || f->system_name >= p->strings.count ||
		    f->filename >= p->strings.count)
			return false;
	}
	return !first->name && !first->system_name && !first->filename && !first->start_line;
}

static bool attributes_ok(const struct profile *p)
{
	const struct profile_attribute *first = &p->attributes.at[0];

	for (u32 i = 0; i < p->attributes.count; i++)
		if (p->attributes.at[i].key >= p->strings.count || p->attributes.at[i].unit >= p->strings.count)
			return false;
	return !first->key && !first->unit && first->value.kind == ANY_NONE;
}

static bool stacks_ok(const struct profile *p)
{
	for (u32 i = 0; i < p->stacks.count; i++)
		if (!indices_below(p->stacks.at[i], p->locations.count))
			return false;
	return !p->stacks.at[0].count;
}

static bool links_ok(const struct profile *p)
{
	static const struct profile_link none;

	return !memcmp(&p->links.at[0], &none, sizeof(none));
}

static bool sample_ok(const struct profile *p, const struct profile_sample *s)
{
	bool shaped = s->value_count == s->time_count || !s->value_count || !s->time_count || s->value_count == 1;

	return shaped && s->stack < p->stacks.count && s->link < p->links.count &&
	       indices_below(s->attributes, p->attributes.count);
}

static bool set_ok(const struct profile *p, const struct profile_set *set)
{
	u32 strings = p->strings.count;

	if (set->sample_type.type >= strings || set->sample_type.unit >= strings ||
	    set->period_type.type >= strings || set->period_type.unit >= strings ||
	    !indices_below(set->attributes, p->attributes.count))
		return false;
	for (u32 i = 0; i < set->sample_count; i++)
		if (!sample_ok(p, &set->samples[i]))
			return false;
	return true;
}

static bool resource_ok(const struct profile *p, const struct profile_resource *resource)
{
	for (u32 s = 0; s < resource->scope_count; s++)
		for (u32 i = 0; i < resource->scopes[s].set_count; i++)
			if (!set_ok(p, &resource->scopes[s].sets[i]))
				return false;
	return true;
}

int profile_check(const struct profile *p)
{
	if (!p->strings.count || !p->mappings.count || !p->locations.count || !p->functions.count ||
	    !p->links.count || !p->attributes.count || !p->stacks.count || p->strings.at[0].len)
		return -EBADMSG;
	if (!mappings_ok(p) || !locations_ok(p) || !functions_ok(p) || !links_ok(p) || !attributes_ok(p) ||
	    !stacks_ok(p))
		return -EBADMSG;
	for (u32 i = 0; i < p->resources.count; i++)
		if (!resource_ok(p, &p->resources.at[i]))
			return -EBADMSG;
	return 0;
}
