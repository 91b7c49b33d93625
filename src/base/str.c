// SPDX-License-Identifier: Apache-2.0
#include "base/str.h"

#include <string.h>

bool str_equal(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.at, b.at, a.len));
}

bool str_is(struct str s, const char *text)
{
	return str_equal(s, (struct str){ text, (u32)strlen(text) });
}

struct str str_base_name(struct str path)
{
	const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
	u32 skip = slash ? (u32)(slash + 1 - path.at) : 0;

	return skip < path.len ? (struct str){ path.at + skip, path.len - skip } : path;
}
