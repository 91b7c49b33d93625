// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "exe/source_map.h"
#include "lang/v8/heap.h"

#define INLINE_MAX (16u << 20)	/* characters of a map that is in its script */
#define NAME_BACK 128		/* characters before a function's parameters that its name is looked for in */

/* What URLs write as %20 is as it is in the names of files. */
static void unescape(char *text)
{
	const char *from = text;

	for (; *from; from++) {
		if (*from == '%' && hex_digit(from[1]) >= 0 && hex_digit(from[2]) >= 0) {
			*text++ = (char)(hex_digit(from[1]) << 4 | hex_digit(from[2]));
			from += 2;
		} else {
			*text++ = *from;
		}
	}
	*text = '\0';
}

static bool is_inline(const char *url)
{
	return !strncmp(url, "data:", 5);
}

static const char *without_scheme(const char *url)
{
	return url + (strncmp(url, "file://", 7) ? 0 : 7);
}

void sources_script_path(const char *name, char path[LANG_TEXT_MAX])
{
	const char *rest = without_scheme(name);

	(void)snprintf(path, LANG_TEXT_MAX, "%s", rest);
	if (rest != name)
		unescape(path);
}

/* Without what leads nowhere: "/a/./b", "/a/c/../b". */
static void shorten(char *path)
{
	char *to = path, *from = path;

	while (*from) {
		size_t len = strcspn(from + 1, "/");

		if (len == 2 && !strncmp(from, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (len && !(len == 1 && from[1] == '.')) {
			memmove(to, from, len + 1);
			to += len + 1;
		}
		from += len + 1;
	}
	*to = '\0';
}

static int directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash + 1 - path) : 0;
}

/* webpack://app/./src/a.ts: the path behind the host. */
static void shorten_url(char *url)
{
	char *host = strstr(url, "://"), *path = host ? strchr(host + 3, '/') : NULL;

	if (path)
		shorten(path);
}

void sources_path(const char *script, const char *url, const char *source, char path[LANG_TEXT_MAX])
{
	source = without_scheme(source);
	url = without_scheme(url);
	if (*source == '/' || strstr(source, "://") || *script != '/') {
		(void)snprintf(path, LANG_TEXT_MAX, "%s", source);
		shorten_url(path);
		return;
	}
	(void)snprintf(path, LANG_TEXT_MAX, "%.*s%.*s%s", *url == '/' ? 0 : directory_of(script), script,
		       is_inline(url) ? 0 : directory_of(url), url, source);
	shorten(path);
}

static bool is_word(u32 c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$' || c >= 0x80;
}

static bool is_name_at(const u16 *units, u32 count, u32 at, const char *name, u32 len)
{
	for (u32 i = 0; i < len; i++)
		if (units[at + i] != (u8)name[i])
			return false;
	return (!at || !is_word(units[at - 1])) && (at + len == count || !is_word(units[at + len]));
}

/* Where in the script a function's name stands that starts there, or less than 0; plain letters only. */
static s32 name_position(struct heap *h, u64 script, s32 start, const char *name)
{
	u64 text = heap_field(h, script, h->layout.at[V8_SCRIPT_SOURCE]);
	u32 first = start > NAME_BACK ? (u32)start - NAME_BACK : 0, len = (u32)strlen(name);
	u16 units[NAME_BACK];
	u32 count = heap_units(h, text, first, (u32)start, units);

	for (u32 at = count; len && at-- > 0;)
		if (len <= count - at && is_name_at(units, count, at, name, len))
			return (s32)(first + at);
	return -1;
}

/* What a function was called before it was renamed. */
static void original_name(struct heap *h, const struct source_map *map, u64 script, s32 start,
			  char name[LANG_TEXT_MAX])
{
	s32 position = start > 0 && name[0] ? name_position(h, script, start, name) : -1;
	const struct source_map_place *found;
	struct script_place place;

	if (position < 0 || h->memory.err)
		return;
	place = script_place(h, script, position);
	found = source_map_find(map, place.line, place.column);
	if (found && found->name && found->column == place.column)
		(void)snprintf(name, LANG_TEXT_MAX, "%s", source_map_text(map, found->name));
}

/* Asks for a map that is not known yet; its URL may be the map itself. */
static int ask_by_url(struct heap *h, struct lang_script script, u64 url, const struct source_map **ret_map)
{
	const struct lang_process *process = h->memory.process;
	u32 length = heap_field32(h, url, h->layout.at[V8_STRING_LENGTH]);
	_cleanup_(freep) char *text = length <= INLINE_MAX ? malloc(length + 8ul) : NULL;

	if (!text)
		return -ENODATA;
	heap_text(h, url, text, length + 8ul);
	if (!is_inline(text))
		unescape(text);
	script.url = text;
	return h->memory.err ? h->memory.err : process->source_map(process->arg, process, &script, ret_map);
}

static int find_map(struct heap *h, u64 script, const char *path, u64 url, const struct source_map **ret_map)
{
	const struct lang_process *process = h->memory.process;
	u64 id = heap_field(h, script, h->layout.at[V8_SCRIPT_LINE_ENDS] + 8);
	struct lang_script asked = { .id = (u32)heap_small(id), .path = path };
	int r;

	if (!heap_is_small(id) || h->memory.err)
		return -ENODATA;
	r = process->source_map(process->arg, process, &asked, ret_map);
	return r == -ENOENT ? ask_by_url(h, asked, url, ret_map) : r;
}

void sources_origin(struct heap *h, u64 script, struct script_place place, s32 start, char name[LANG_TEXT_MAX],
		    char file[LANG_TEXT_MAX], u32 *line)
{
	char path[LANG_TEXT_MAX], url_is[LANG_TEXT_MAX];
	const struct source_map_place *found;
	const struct source_map *map;
	u64 url;

	if (!h->memory.process->source_map || !LANG_WANTS(h->memory.process->wishes, source_maps) ||
	    h->layout.at[V8_SCRIPT_MAP_URL] == V8_MISSING)
		return;
	url = heap_field(h, script, h->layout.at[V8_SCRIPT_MAP_URL]);
	sources_script_path(file, path);
	if (heap_is_pointer(url) && heap_is_string(h, url) && !find_map(h, script, path, url, &map)) {
		original_name(h, map, script, start, name);
		found = source_map_find(map, place.line, place.column);
		heap_text(h, url, url_is, sizeof(url_is));
		if (!is_inline(url_is))
			unescape(url_is);
		if (found && !h->memory.err) {
			sources_path(path, url_is, source_map_text(map, found->source), file);
			*line = found->source_line + 1;
		}
	}
	h->memory.err = 0;	/* the script's own names are good */
}
