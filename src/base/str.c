// SPDX-License-Identifier: Apache-2.0
#include "base/str.h"

#include <string.h>

bool str_equal(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.at, b.at, a.len));
}

struct str str_of(const char *text)
{
	return (struct str){ text, text ? (u32)strlen(text) : 0 };
}

bool str_is(struct str s, const char *text)
{
	return str_equal(s, str_of(text));
}

bool str_starts(struct str s, const char *with)
{
	size_t len = strlen(with);

	return s.len >= len && (!len || !memcmp(s.at, with, len));
}

bool str_ends(struct str s, const char *with)
{
	size_t len = strlen(with);

	return s.len >= len && (!len || !memcmp(s.at + s.len - len, with, len));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct str str_trim(struct str s)
{
	for (; s.len && is_blank(*s.at); s.at++)
		s.len--;
	while (s.len && is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

bool str_cut(struct str *rest, char separator, struct str *ret_part)
{
	const char *end = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
	u32 len = end ? (u32)(end - rest->at) : rest->len, taken = len + (end != NULL);

	if (!rest->len)
		return false;
	*ret_part = (struct str){ rest->at, len };
	*rest = (struct str){ rest->at + taken, rest->len - taken };
	return true;
}

struct str str_base_name(struct str path)
{
	const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
	u32 skip = slash ? (u32)(slash + 1 - path.at) : 0;

	return skip < path.len ? (struct str){ path.at + skip, path.len - skip } : path;
}

int str_compare(struct str a, struct str b)
{
	u32 len = a.len < b.len ? a.len : b.len;
	int r = len ? memcmp(a.at, b.at, len) : 0;

	return r ? r : (a.len > b.len) - (a.len < b.len);
}
