// SPDX-License-Identifier: Apache-2.0
#include "exe/source_map_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void source_map_builder_done(struct source_map_builder *b)
{
	free(b->places);
	free(b->text);
}

/* Room for so many bytes more; the first text of all is the empty one. */
static int reserve_text(struct source_map_builder *b, size_t bytes)
{
	if (bytes > SOURCE_MAP_TEXT_MAX || b->text_bytes + bytes + 1 > SOURCE_MAP_TEXT_MAX)
		return -E2BIG;
	if (array_reserve(&b->text, &b->text_cap, b->text_bytes + (u32)bytes + 1, 1) < 0)
		return -ENOMEM;
	if (!b->text_bytes)
		b->text[b->text_bytes++] = '\0';
	return 0;
}

int source_map_builder_text(struct source_map_builder *b, const char *root, const char *text, u32 *ret_offset)
{
	size_t root_len = strlen(root), len = strlen(text);
	bool is_joined = root_len && root[root_len - 1] != '/';
	size_t bytes = root_len + is_joined + len + 1;
	int r = reserve_text(b, bytes);

	if (r < 0)
		return r;
	memcpy(b->text + b->text_bytes, root, root_len);
	if (is_joined)
		b->text[b->text_bytes + root_len] = '/';
	memcpy(b->text + b->text_bytes + root_len + is_joined, text, len + 1);
	*ret_offset = b->text_bytes;
	b->text_bytes += (u32)bytes;
	return 0;
}

int source_map_builder_place(struct source_map_builder *b, struct source_map_place place)
{
	const struct source_map_place *last = b->place_count ? &b->places[b->place_count - 1] : NULL;

	/* Lines are all that is asked for. */
	if (last && last->line == place.line && last->source == place.source &&
	    last->source_line == place.source_line && !place.name && last->column <= place.column)
		return 0;
	if (last && source_map_place_compare(last, &place) > 0)
		b->is_unsorted = true;
	if (b->place_count == SOURCE_MAP_PLACES_MAX)
		return -E2BIG;
	if (array_reserve(&b->places, &b->place_cap, b->place_count + 1, sizeof(*b->places)) < 0)
		return -ENOMEM;
	b->places[b->place_count++] = place;
	return 0;
}

int source_map_place_compare(const void *a, const void *b)
{
	const struct source_map_place *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->column < y->column ? -1 : x->column > y->column;
}

int source_map_builder_finish(struct source_map_builder *b, struct source_map **ret_map)
{
	size_t places = b->place_count * sizeof(*b->places), bytes;
	struct source_map *map;
	int r;

	if (!b->place_count)
		return -ENODATA;
	r = reserve_text(b, 0);
	if (r < 0)
		return r;
	bytes = sizeof(*map) + places + b->text_bytes;
	map = malloc(bytes);
	if (!map)
		return -ENOMEM;
	if (b->is_unsorted)
		qsort(b->places, b->place_count, sizeof(*b->places), source_map_place_compare);
	*map = (struct source_map){ .bytes = (u32)bytes, .place_count = b->place_count, .text_bytes = b->text_bytes };
	memcpy(map->id, b->id, sizeof(map->id));
	memcpy(map->places, b->places, places);
	memcpy((char *)map->places + places, b->text, b->text_bytes);
	*ret_map = map;
	return 0;
}
