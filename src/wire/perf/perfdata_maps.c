// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfdata_maps.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "profile/any.h"
#include "wire/pprof/pprof.h"

#define RANGES_START 0x100000000000ull
#define RANGES_END 0x7f0000000000ull

int perfdata_maps_init(struct perfdata_maps *maps, const struct profile *profile, bool embed_names)
{
	*maps = (struct perfdata_maps){ .profile = profile, .next = RANGES_START, .embed_names = embed_names };
	maps->at = calloc((size_t)profile->mappings.count + 1, sizeof(*maps->at));
	maps->first = calloc((size_t)profile->strings.count + 1, sizeof(*maps->first));
	return maps->at && maps->first ? 0 : -ENOMEM;
}

void perfdata_maps_done(struct perfdata_maps *maps)
{
	for (u32 i = 0; maps->at && i < maps->profile->mappings.count; i++)
		perfdata_local_done(&maps->at[i].local);
	free(maps->at);
	free(maps->first);
}

static void read_build_id(const struct profile *p, const struct profile_mapping *m, struct perfdata_map *map)
{
	struct str text = any_text(profile_attribute_find(p, m->attributes, PPROF_BUILD_ID_GNU));
	u32 bytes = text.len / 2;

	if (text.len % 2 || bytes > sizeof(map->build_id))
		return;
	for (u32 i = 0; i < bytes; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return;
		map->build_id[i] = (u8)(high << 4 | low);
	}
	map->build_id_bytes = (u8)bytes;
}

/* A path that a mapping record has room for. */
static bool path_of(const struct profile *p, const struct profile_mapping *m, char ret_path[PATH_MAX])
{
	struct str path = p->strings.at[m->filename];

	if (!path.len || path.at[0] != '/' || path.len >= PATH_MAX || memchr(path.at, '\0', path.len))
		return false;
	memcpy(ret_path, path.at, path.len);
	ret_path[path.len] = '\0';
	return true;
}

/* Is the file here? Each process may have a mapping of it, but it is read once. */
static void find_file(struct perfdata_maps *maps, u32 mapping, const char *path)
{
	u32 *first = &maps->first[maps->profile->mappings.at[mapping].filename];
	struct perfdata_map *map = &maps->at[mapping], *other = &maps->at[*first];

	map->same = mapping;
	if (*first && other->build_id_bytes == map->build_id_bytes &&
	    !memcmp(other->build_id, map->build_id, map->build_id_bytes)) {
		map->same = *first;
		map->is_here = true;
		return;
	}
	map->is_here = perfdata_local_find(path, map->build_id, map->build_id_bytes, &map->local);
	if (map->is_here)
		*first = mapping;
}

static void look_at(struct perfdata_maps *maps, u32 mapping)
{
	const struct profile_mapping *m = &maps->profile->mappings.at[mapping];
	struct perfdata_map *map = &maps->at[mapping];
	u64 bytes = m->limit_va - m->start_va;
	char path[PATH_MAX];

	map->is_looked_at = true;
	read_build_id(maps->profile, m, map);
	if (!map->build_id_bytes || m->limit_va <= m->start_va || maps->next >= RANGES_END ||
	    bytes > RANGES_END - maps->next || !path_of(maps->profile, m, path))
		return;
	if (!maps->embed_names)
		find_file(maps, mapping, path);
	/* Where a page of the file begins a page of memory does. */
	map->start = maps->next + m->file_offset % PERFDATA_PAGE_BYTES;
	maps->next = (map->start + bytes + 2 * PERFDATA_PAGE_BYTES) / PERFDATA_PAGE_BYTES * PERFDATA_PAGE_BYTES;
}

static bool has_name(const struct profile *p, const struct profile_location *l)
{
	const struct profile_function *f = &p->functions.at[l->line_count ? l->lines[0].function : 0];
	struct str name = p->strings.at[f->name ? f->name : f->system_name];

	return l->line_count > 1 || (name.len && !str_equal(name, STR("[unknown]")));
}

/* Where in its file the function around a place in it begins, 0 if that is not known. */
static u64 find_function(struct perfdata_maps *maps, struct perfdata_local *local, const char *path, u64 fo)
{
	bool is_first = !local->is_read;
	u64 start;

	if (is_first && maps->functions > PERFDATA_FUNCTIONS_MAX)
		return 0;
	start = perfdata_local_function(local, path, fo);
	maps->functions += is_first ? local->function_count : 0;
	return start;
}

/* Of a location whose names are those that its file has. */
static bool find_named(struct perfdata_maps *maps, const struct profile_location *l, struct perfdata_place *place)
{
	const struct profile_mapping *m = &maps->profile->mappings.at[l->mapping];
	struct perfdata_map *map = &maps->at[l->mapping];
	struct perfdata_local *local = &maps->at[map->same].local;
	u64 fo = l->address - m->start_va + m->file_offset, start;
	char path[PATH_MAX];

	if (!map->is_here || !local->has_symbols)
		return false;
	if (l->line_count == 1)
		return true;
	if (!path_of(maps->profile, m, path))
		return false;
	start = find_function(maps, local, path, fo);
	/* The part of a function that lies elsewhere (.cold) has a symbol of its own. */
	if (!start || start < m->file_offset)
		return false;
	place->caller = map->start + (start - m->file_offset);
	return true;
}

bool perfdata_maps_place(struct perfdata_maps *maps, u32 location, struct perfdata_place *ret_place)
{
	const struct profile_location *l = &maps->profile->locations.at[location];
	const struct profile_mapping *m = &maps->profile->mappings.at[l->mapping];
	struct perfdata_map *map = &maps->at[l->mapping];
	struct perfdata_place place;

	if (!l->mapping)
		return false;
	if (!map->is_looked_at)
		look_at(maps, l->mapping);
	map->is_used = true;
	if (!map->start || l->address < m->start_va || l->address >= m->limit_va)
		return false;
	place.address = place.caller = map->start + (l->address - m->start_va);
	if (has_name(maps->profile, l) && !find_named(maps, l, &place))
		return false;
	*ret_place = place;
	return true;
}
