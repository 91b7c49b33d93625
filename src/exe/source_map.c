// SPDX-License-Identifier: Apache-2.0
#include "exe/source_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "exe/json_scan.h"
#include "exe/source_map_builder.h"

#define STRING_MAX 4096			/* bytes of a source's or a thing's name; longer ones are cut */
#define SECTIONS_DEEP 1			/* a section's map has none of its own */
#define NOT_USED UINT32_MAX

/* Strings of an array of the file. */
struct strings {
	struct json_scan *at;
	u32 *text;		/* where each stands in the text, or NOT_USED so far */
	u32 count, cap, text_cap;
};

/* The members of a map that matter. */
struct members {
	struct json_scan mappings, sources, names, root, sections, offset, map, line, column;
};

static void strings_done(struct strings *s)
{
	free(s->at);
	free(s->text);
}

static struct members find_members(struct json_scan object)
{
	struct members m = { 0 };
	const struct {
		const char *name;
		struct json_scan *value;
	} wanted[] = {
		{ "mappings", &m.mappings }, { "sources", &m.sources }, { "names", &m.names },
		{ "sourceRoot", &m.root }, { "sections", &m.sections }, { "offset", &m.offset },
		{ "map", &m.map }, { "line", &m.line }, { "column", &m.column },
	};
	struct json_scan key, value;

	while (json_scan_member(&object, &key, &value))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (json_scan_is(&key, wanted[i].name))
				*wanted[i].value = value;
	return m;
}

static int read_strings(struct json_scan array, struct strings *s)
{
	struct json_scan value;

	while (json_scan_element(&array, &value)) {
		if (s->count == SOURCE_MAP_STRINGS_MAX)
			return -E2BIG;
		if (array_reserve(&s->at, &s->cap, s->count + 1, sizeof(*s->at)) < 0)
			return -ENOMEM;
		s->at[s->count++] = value;
	}
	if (array_reserve(&s->text, &s->text_cap, s->count, sizeof(*s->text)) < 0)
		return -ENOMEM;
	if (s->count)
		memset(s->text, 0xff, s->count * sizeof(*s->text));
	return 0;
}

/* Where a string is in the text, put there if it is not yet; 0 for one that is not there at all. */
static int use_string(struct source_map_builder *b, struct strings *s, s64 index, const char *root, u32 *ret_offset)
{
	char text[STRING_MAX];

	*ret_offset = 0;
	if (index < 0 || index >= (s64)s->count)
		return 0;
	if (s->text[index] == NOT_USED) {
		u32 offset = 0;		/* of one that is empty */
		int r;

		json_scan_text(&s->at[index], text, sizeof(text));
		r = text[0] ? source_map_builder_text(b, root, text, &offset) : 0;
		if (r < 0)
			return r;
		s->text[index] = offset;
	}
	*ret_offset = s->text[index];
	return 0;
}

/* A number of five bits a digit, the lowest first, and its sign in the lowest of all. */
static bool take_vlq(const char **at, const char *end, s64 *number)
{
	u64 value = 0;

	for (u32 shift = 0; *at < end && shift < 35; shift += 5) {
		int digit = base64_digit(**at);

		if (digit < 0)
			return false;
		(*at)++;
		value |= (u64)(digit & 31) << shift;
		if (!(digit & 32)) {
			*number += value & 1 ? -(s64)(value >> 1) : (s64)(value >> 1);
			return true;
		}
	}
	return false;
}

/* Where a section's own map starts in the script. */
struct origin {
	s64 line, column;
};

/* The numbers of a segment, each the difference to the one before. */
struct segment {
	s64 column, source, source_line, source_column, name;
};

static bool fits(s64 number)
{
	return number >= 0 && number <= INT32_MAX;
}

static bool ends_segment(const char *at, const char *end)
{
	return at == end || *at == ',' || *at == ';';
}

static int add_segment(struct source_map_builder *b, struct strings *sources, struct strings *names, const char *root,
		       const struct segment *s, s64 line, s64 column, u32 fields)
{
	struct source_map_place place = { .line = (u32)line, .column = (u32)column };
	int r = 0;

	if (!fits(line) || !fits(column))
		return 0;
	if (fields >= 4 && fits(s->source_line)) {
		place.source_line = (u32)s->source_line;
		r = use_string(b, sources, s->source, root, &place.source);
	}
	if (r == 0 && fields >= 5)
		r = use_string(b, names, s->name, "", &place.name);
	return r < 0 ? r : source_map_builder_place(b, place);
}

static int read_mappings(struct source_map_builder *b, const struct json_scan *text, struct strings *sources,
			 struct strings *names, const char *root, struct origin origin)
{
	const char *at = text->at, *end = text->end;
	struct segment s = { 0 };
	s64 line = 0;

	while (at < end) {
		s64 *numbers[] = { &s.column, &s.source, &s.source_line, &s.source_column, &s.name };
		u32 fields = 0;
		int r;

		if (*at == ',' || *at == ';') {
			if (*at++ == ';') {
				line++;
				s.column = 0;
			}
			continue;
		}
		while (fields < 5 && !ends_segment(at, end) && take_vlq(&at, end, numbers[fields]))
			fields++;
		if (!ends_segment(at, end))
			return -EBADMSG;
		r = add_segment(b, sources, names, root, &s, origin.line + line,
				s.column + (line ? 0 : origin.column), fields);
		if (r < 0)
			return r;
	}
	return 0;
}

static void strip_quotes(struct json_scan *text)
{
	text->at++;
	text->end--;
}

static int read_plain(struct source_map_builder *b, const struct members *m, struct origin origin)
{
	_cleanup_(strings_done) struct strings sources = { 0 }, names = { 0 };
	struct json_scan mappings = m->mappings;
	char root[STRING_MAX] = "";
	int r;

	if (!json_scan_is_string(&mappings))
		return -EBADMSG;
	strip_quotes(&mappings);
	json_scan_text(&m->root, root, sizeof(root));
	r = read_strings(m->sources, &sources);
	if (r == 0)
		r = read_strings(m->names, &names);
	return r < 0 ? r : read_mappings(b, &mappings, &sources, &names, root, origin);
}

static int read_map(struct source_map_builder *b, struct json_scan object, struct origin origin, u32 depth)
{
	struct members m = find_members(object), section;
	struct json_scan value;
	int r = 0;

	if (!m.sections.at)
		return read_plain(b, &m, origin);
	if (depth == SECTIONS_DEEP)
		return -EBADMSG;
	while (r == 0 && json_scan_element(&m.sections, &value)) {
		struct members offset;

		section = find_members(value);
		offset = find_members(section.offset);
		/* One that is kept elsewhere is not read. */
		if (section.map.at)
			r = read_map(b, section.map, (struct origin){ json_scan_number(&offset.line),
								       json_scan_number(&offset.column) }, depth + 1);
	}
	return r;
}

/* The content of data:application/json;charset=utf-8;base64,...: in place of the text itself. */
static int decode_data(const char **at, size_t *bytes, char **ret_decoded)
{
	const char *comma = memchr(*at, ',', *bytes);
	_cleanup_(freep) char *decoded = malloc(BASE64_BYTES_MAX(*bytes));
	size_t len;
	int r;

	if (!decoded)
		return -ENOMEM;
	if (!comma || comma - *at < 7 || memcmp(comma - 7, ";base64", 7))
		return -EBADMSG;
	len = *bytes - (size_t)(comma + 1 - *at);
	r = base64_decode(comma + 1, len, decoded, bytes);
	if (r == 0)
		*at = *ret_decoded = TAKE(decoded);
	return r;
}

int source_map_build(const char *at, size_t bytes, struct source_map **ret_map)
{
	_cleanup_(source_map_builder_done) struct source_map_builder b = { 0 };
	_cleanup_(freep) char *decoded = NULL;
	struct json_scan object;
	int r = 0;

	if (bytes > SOURCE_MAP_FILE_MAX)
		return -E2BIG;
	if (bytes >= 5 && !memcmp(at, "data:", 5))
		r = decode_data(&at, &bytes, &decoded);
	/* What keeps scripts from including it by mistake. */
	if (r == 0 && bytes >= 3 && !memcmp(at, ")]}", 3)) {
		const char *line = memchr(at, '\n', bytes);

		bytes -= line ? (size_t)(line - at) : bytes;
		at = line;
	}
	if (r == 0)
		r = json_scan_value(at, bytes, &object);
	if (r == 0)
		r = read_map(&b, object, (struct origin){ 0, 0 }, 0);
	return r < 0 ? r : source_map_builder_finish(&b, ret_map);
}

static bool is_ordered(const struct source_map *map)
{
	for (u32 i = 1; i < map->place_count; i++)
		if (source_map_place_compare(&map->places[i - 1], &map->places[i]) > 0)
			return false;
	return true;
}

int source_map_check(const struct source_map *map, size_t bytes)
{
	size_t places;

	if (bytes < sizeof(*map) || map->bytes != bytes || map->place_count > SOURCE_MAP_PLACES_MAX ||
	    !map->text_bytes || map->text_bytes > SOURCE_MAP_TEXT_MAX)
		return -EBADMSG;
	places = map->place_count * sizeof(*map->places);
	if (bytes != sizeof(*map) + places + map->text_bytes || source_map_text(map, 0)[0] ||
	    source_map_text(map, 0)[map->text_bytes - 1] || !is_ordered(map))
		return -EBADMSG;
	for (u32 i = 0; i < map->place_count; i++)
		if (map->places[i].source >= map->text_bytes || map->places[i].name >= map->text_bytes)
			return -EBADMSG;
	return 0;
}

const struct source_map_place *source_map_find(const struct source_map *map, u32 line, u32 column)
{
	struct source_map_place wanted = { .line = line, .column = column };
	u32 low = 0, high = map->place_count;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (source_map_place_compare(&map->places[mid], &wanted) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || map->places[low - 1].line != line || !map->places[low - 1].source)
		return NULL;
	return &map->places[low - 1];
}

const char *source_map_text(const struct source_map *map, u32 offset)
{
	return (const char *)&map->places[map->place_count] + offset;
}
