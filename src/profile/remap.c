// SPDX-License-Identifier: Apache-2.0
#include "profile/remap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "profile/table.h"

void remap_done(struct remap *remap)
{
	free(remap->strings);
	free(remap->mappings);
	free(remap->locations);
	free(remap->functions);
	free(remap->links);
	free(remap->attributes);
	free(remap->stacks);
	free(remap->list);
	free(remap->lines);
	*remap = (struct remap){ 0 };
}

/* Lists of attributes are short and mostly in order, but not always. */
#define INSERTION_SORT_MAX 32

static int compare_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

void indices_sort(u32 *at, u32 count)
{
	if (count > INSERTION_SORT_MAX) {
		qsort(at, count, sizeof(*at), compare_u32);
		return;
	}
	for (u32 i = 1; i < count; i++) {
		u32 value = at[i], k = i;

		for (; k && at[k - 1] > value; k--)
			at[k] = at[k - 1];
		at[k] = value;
	}
}

bool indices_sorted(struct indices list)
{
	for (u32 i = 1; i < list.count; i++)
		if (list.at[i - 1] > list.at[i])
			return false;
	return true;
}

/* The indices as they are called in the other table, in remap->list. */
static int remap_list(struct remap *remap, const u32 *map, struct indices from, struct indices *ret_list)
{
	int r = 0;

	while (remap->list_cap < from.count && r == 0)
		r = array_grow(&remap->list, &remap->list_cap, remap->list_cap, PROFILE_TABLE_MAX,
			       sizeof(*remap->list));
	if (r < 0)
		return r;
	for (u32 i = 0; i < from.count; i++)
		remap->list[i] = map[from.at[i]];
	*ret_list = (struct indices){ remap->list, from.count };
	return 0;
}

int remap_attributes(struct remap *remap, struct indices attributes, struct indices *ret_list)
{
	int r = remap_list(remap, remap->attributes, attributes, ret_list);

	if (r == 0)
		indices_sort(remap->list, attributes.count);
	return r;
}

struct profile_type remap_type(const struct remap *remap, struct profile_type type)
{
	return (struct profile_type){ remap->strings[type.type], remap->strings[type.unit] };
}

static int remap_mapping(struct remap *remap, struct profile *into, const struct profile_mapping *from, u32 *ret)
{
	struct profile_mapping m = *from;
	int r = remap_list(remap, remap->attributes, from->attributes, &m.attributes);

	if (r < 0)
		return r;
	m.filename = remap->strings[from->filename];
	*ret = profile_add_mapping(into, &m);
	return 0;
}

static int remap_location(struct remap *remap, struct profile *into, const struct profile_location *from, u32 *ret)
{
	struct profile_location l = *from;
	int r = remap_list(remap, remap->attributes, from->attributes, &l.attributes);

	while (remap->line_cap < from->line_count && r == 0)
		r = array_grow(&remap->lines, &remap->line_cap, remap->line_cap, PROFILE_TABLE_MAX,
			       sizeof(*remap->lines));
	if (r < 0)
		return r;
	for (u32 i = 0; i < from->line_count; i++) {
		remap->lines[i] = from->lines[i];
		remap->lines[i].function = remap->functions[from->lines[i].function];
	}
	l.lines = remap->lines;
	l.mapping = remap->mappings[from->mapping];
	*ret = profile_add_location(into, &l);
	return 0;
}

static u32 remap_function(const struct remap *remap, struct profile *into, struct profile_function f)
{
	f.name = remap->strings[f.name];
	f.system_name = remap->strings[f.system_name];
	f.filename = remap->strings[f.filename];
	return profile_add_function(into, &f);
}

static u32 remap_attribute(const struct remap *remap, struct profile *into, struct profile_attribute a)
{
	a.key = remap->strings[a.key];
	a.unit = remap->strings[a.unit];
	return profile_add_attribute(into, &a);
}

/* Room for all of a profile's rows; false if memory ran out. */
static bool remap_alloc(struct remap *remap, const struct profile *from)
{
	remap_done(remap);
	remap->strings = calloc(from->strings.count, sizeof(u32));
	remap->mappings = calloc(from->mappings.count, sizeof(u32));
	remap->locations = calloc(from->locations.count, sizeof(u32));
	remap->functions = calloc(from->functions.count, sizeof(u32));
	remap->links = calloc(from->links.count, sizeof(u32));
	remap->attributes = calloc(from->attributes.count, sizeof(u32));
	remap->stacks = calloc(from->stacks.count, sizeof(u32));
	return remap->strings && remap->mappings && remap->locations && remap->functions && remap->links &&
	       remap->attributes && remap->stacks;
}

int remap_tables(struct remap *remap, struct profile *into, const struct profile *from)
{
	struct indices list;
	int r = remap_alloc(remap, from) ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	for (u32 i = 1; i < from->strings.count; i++)
		remap->strings[i] = profile_add_string(into, from->strings.at[i].at, from->strings.at[i].len);
	for (u32 i = 1; i < from->attributes.count; i++)
		remap->attributes[i] = remap_attribute(remap, into, from->attributes.at[i]);
	for (u32 i = 1; i < from->functions.count; i++)
		remap->functions[i] = remap_function(remap, into, from->functions.at[i]);
	for (u32 i = 1; i < from->links.count; i++)
		remap->links[i] = profile_add_link(into, &from->links.at[i]);
	for (u32 i = 1; i < from->mappings.count && r == 0; i++)
		r = remap_mapping(remap, into, &from->mappings.at[i], &remap->mappings[i]);
	for (u32 i = 1; i < from->locations.count && r == 0; i++)
		r = remap_location(remap, into, &from->locations.at[i], &remap->locations[i]);
	for (u32 i = 1; i < from->stacks.count && r == 0; i++) {
		r = remap_list(remap, remap->locations, from->stacks.at[i], &list);
		if (r == 0)
			remap->stacks[i] = profile_add_stack(into, list.at, list.count);
	}
	return r < 0 ? r : profile_err(into);
}
