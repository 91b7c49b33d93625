// SPDX-License-Identifier: Apache-2.0
#include "profile/remap.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/profile.h"

void remap_done(struct remap *remap)
{
	free(remap->strings);
	free(remap->functions);
	free(remap->attributes);
	free(remap->mappings);
	free(remap->locations);
	free(remap->links);
	free(remap->stacks);
	*remap = (struct remap){ 0 };
}

static u32 *map_new(u32 count)
{
	return calloc(count ? count : 1, sizeof(u32));
}

static int remap_alloc(struct remap *r, const struct profile *from)
{
	r->strings = map_new(from->strings.count);
	r->functions = map_new(from->functions.count);
	r->attributes = map_new(from->attributes.count);
	r->mappings = map_new(from->mappings.count);
	r->locations = map_new(from->locations.count);
	r->links = map_new(from->links.count);
	r->stacks = map_new(from->stacks.count);
	return r->strings && r->functions && r->attributes && r->mappings && r->locations && r->links && r->stacks ?
		       0 : -ENOMEM;
}

/* Room for one translated list, grown as need be. */
struct scratch {
	void *at;
	size_t bytes;
};

static void *scratch_room(struct scratch *scratch, size_t count, size_t size)
{
	size_t bytes = (count ? count : 1) * size;
	void *at = bytes > scratch->bytes ? realloc(scratch->at, bytes) : scratch->at;

	if (!at)
		return NULL;
	scratch->at = at;
	scratch->bytes = bytes > scratch->bytes ? bytes : scratch->bytes;
	return at;
}

static int translate(struct scratch *scratch, const u32 *map, struct indices from, struct indices *ret_list)
{
	u32 *at = scratch_room(scratch, from.count, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (u32 i = 0; i < from.count; i++)
		at[i] = map[from.at[i]];
	*ret_list = (struct indices){ at, from.count };
	return 0;
}

static void add_plain(struct remap *r, struct profile *to, const struct profile *from)
{
	for (u32 i = 0; i < from->strings.count; i++)
		r->strings[i] = profile_add_string(to, from->strings.at[i].at, from->strings.at[i].len);
	for (u32 i = 0; i < from->functions.count; i++) {
		struct profile_function f = from->functions.at[i];

		f.name = r->strings[f.name];
		f.system_name = r->strings[f.system_name];
		f.filename = r->strings[f.filename];
		r->functions[i] = profile_add_function(to, &f);
	}
	for (u32 i = 0; i < from->attributes.count; i++) {
		struct profile_attribute a = from->attributes.at[i];

		a.key = r->strings[a.key];
		a.unit = r->strings[a.unit];
		r->attributes[i] = profile_add_attribute(to, &a);
	}
	for (u32 i = 1; i < from->links.count; i++)
		r->links[i] = profile_add_link(to, &from->links.at[i]);
}

static int add_mappings(struct remap *r, struct scratch *scratch, struct profile *to, const struct profile *from)
{
	for (u32 i = 0; i < from->mappings.count; i++) {
		struct profile_mapping m = from->mappings.at[i];

		if (translate(scratch, r->attributes, m.attributes, &m.attributes) < 0)
			return -ENOMEM;
		m.filename = r->strings[m.filename];
		r->mappings[i] = profile_add_mapping(to, &m);
	}
	return 0;
}

static int add_locations(struct remap *r, struct scratch *scratch, struct scratch *line_scratch, struct profile *to,
			 const struct profile *from)
{
	for (u32 i = 0; i < from->locations.count; i++) {
		struct profile_location l = from->locations.at[i];
		struct profile_line *lines = scratch_room(line_scratch, l.line_count, sizeof(*lines));

		if (!lines || translate(scratch, r->attributes, l.attributes, &l.attributes) < 0)
			return -ENOMEM;
		for (u32 j = 0; j < l.line_count; j++) {
			lines[j] = l.lines[j];
			lines[j].function = r->functions[lines[j].function];
		}
		l.lines = lines;
		l.mapping = r->mappings[l.mapping];
		r->locations[i] = profile_add_location(to, &l);
	}
	return 0;
}

static int add_stacks(struct remap *r, struct scratch *scratch, struct profile *to, const struct profile *from)
{
	for (u32 i = 0; i < from->stacks.count; i++) {
		struct indices stack;

		if (translate(scratch, r->locations, from->stacks.at[i], &stack) < 0)
			return -ENOMEM;
		r->stacks[i] = profile_add_stack(to, stack.at, stack.count);
	}
	return 0;
}

int remap_init(struct remap *remap, struct profile *to, const struct profile *from)
{
	struct scratch scratch = { 0 }, line_scratch = { 0 };
	int r;

	*remap = (struct remap){ 0 };
	r = remap_alloc(remap, from);
	if (r == 0) {
		add_plain(remap, to, from);
		r = add_mappings(remap, &scratch, to, from);
	}
	if (r == 0)
		r = add_locations(remap, &scratch, &line_scratch, to, from);
	if (r == 0)
		r = add_stacks(remap, &scratch, to, from);
	free(scratch.at);
	free(line_scratch.at);
	return r < 0 ? r : profile_err(to);
}
