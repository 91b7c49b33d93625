// SPDX-License-Identifier: Apache-2.0
#include "pipeline/component_id.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/types.h"
#include "base/utf8.h"

#define TYPE_MAX 63
#define NAME_MAX_BYTES 1024

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_type(struct str p)
{
	if (!p.len || p.len > TYPE_MAX || !is_letter(*p.at))
		return false;
	for (size_t i = 1; i < p.len; i++) {
		if (!is_letter(p.at[i]) && !(p.at[i] >= '0' && p.at[i] <= '9') && p.at[i] != '_')
			return false;
	}
	return true;
}

static u32 code_point(const char *at, size_t step)
{
	static const u32 first_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	u32 code = (unsigned char)at[0] & first_mask[step];

	for (size_t i = 1; i < step; i++)
		code = code << 6 | ((unsigned char)at[i] & 0x3f);
	return code;
}

/* Unicode's categories Z, C and S, as far as they occur in what people type: ASCII, Latin-1 and the general blocks. */
static bool is_refused(u32 code)
{
	static const struct {
		u32 first, last;
	} ranges[] = {
		{ 0x00, 0x20 }, { 0x7f, 0xa0 }, { 0xa2, 0xa6 }, { 0xa8, 0xa9 }, { 0xac, 0xb1 }, { 0xb4, 0xb4 },
		{ 0xb8, 0xb8 }, { 0xd7, 0xd7 }, { 0xf7, 0xf7 }, { 0x1680, 0x1680 }, { 0x2000, 0x200f },
		{ 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x20a0, 0x20c0 }, { 0x2190, 0x23ff }, { 0x2500, 0x2767 },
		{ 0x3000, 0x3000 }, { 0xd800, 0xf8ff }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffd },
		{ 0x1f000, 0x1faff }, { 0xe0000, 0x10ffff },
	};

	if (code < 0x80 && strchr("$+<=>^`|~", (int)code))
		return true;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	}
	return false;
}

static bool is_name(struct str p)
{
	size_t step;

	if (!p.len || p.len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < p.len; i += step) {
		step = utf8_next(p.at + i, p.len - i);
		if (!step || is_refused(code_point(p.at + i, step)))
			return false;
	}
	return true;
}

static int copy(struct arena *arena, struct str type, struct str name, struct component_id *ret_id)
{
	size_t bytes = type.len + 1 + name.len;
	char *whole = arena_zalloc(arena, bytes + 1), *own_type = arena_strndup(arena, type.at, type.len);

	if (!whole || !own_type)
		return arena_err(arena);
	memcpy(whole, type.at, type.len);
	if (name.len) {
		whole[type.len] = '/';
		memcpy(whole + type.len + 1, name.at, name.len);
	}
	*ret_id = (struct component_id){ whole, own_type, name.len ? whole + type.len + 1 : "" };
	return 0;
}

int component_id_parse(struct arena *arena, const char *text, struct component_id *ret_id, const char **ret_why)
{
	const char *slash = strchr(text, '/');
	struct str type = str_trim(slash ? (struct str){ text, (u32)(slash - text) } : str_of(text));
	struct str name = STR("");

	if (slash)
		name = str_trim(str_of(slash + 1));
	*ret_why = NULL;
	if (!type.len)
		*ret_why = slash ? "the part before / must not be empty" : "an id must not be empty";
	else if (slash && !name.len)
		*ret_why = "the part after / must not be empty";
	else if (!is_type(type))
		*ret_why = "a type is a letter and up to 62 letters, digits and underscores";
	else if (slash && !is_name(name))
		*ret_why = "a name has at most 1024 bytes and no blanks, control characters and symbols";
	return *ret_why ? -EINVAL : copy(arena, type, name, ret_id);
}
