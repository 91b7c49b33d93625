// SPDX-License-Identifier: Apache-2.0
#include "profile/nameless.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "profile/any.h"

#define NAMES_BYTES_MAX ((size_t)256 << 20)
#define FILE_BYTES_MAX 255u		/* no file system has longer names */

/* The name of a file is repeated for each address in it: of one that cannot be, only the beginning. */
static struct str file_name(struct str module)
{
	struct str base = str_base_name(module);

	if (base.len <= FILE_BYTES_MAX)
		return base;
	/* Not in the middle of a character. */
	for (base.len = FILE_BYTES_MAX; base.len && ((u8)base.at[base.len] & 0xc0) == 0x80;)
		base.len--;
	return base;
}

struct str nameless_name(struct arena *arena, struct str module, u64 address)
{
	struct str base = file_name(module);
	char number[24], *text;
	u32 len = (u32)snprintf(number, sizeof(number), "%s0x%llx", base.len ? "+" : "", (unsigned long long)address);

	if (!base.len && !address)
		return STR("[unknown]");
	text = arena_alloc(arena, (size_t)base.len + len);
	if (!text)
		return STR("[unknown]");
	if (base.len)
		memcpy(text, base.at, base.len);
	memcpy(text + base.len, number, len);
	return (struct str){ text, base.len + len };
}

static bool has_name(const struct profile *p, const struct profile_line *line)
{
	return p->strings.at[p->functions.at[line->function].name].len;
}

static u32 add_function(struct profile *p, struct arena *arena, const struct profile_location *l, u32 like)
{
	struct profile_function function = p->functions.at[like];
	struct str name = p->strings.at[function.system_name];

	if (!name.len)
		name = nameless_name(arena, p->strings.at[p->mappings.at[l->mapping].filename], l->address);
	function.name = profile_add_string(p, name.at, name.len);
	return profile_add_function(p, &function);
}

/* The lines that lack a name get one: the linker's, or that of the address. */
static int name_lines(struct profile *p, struct arena *arena, u32 location)
{
	const struct profile_location *l = &p->locations.at[location];
	u32 count = l->line_count ? l->line_count : 1;
	_cleanup_(freep) struct profile_line *lines = calloc(count, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		if (l->line_count)
			lines[i] = l->lines[i];
		if (!has_name(p, &lines[i]))
			lines[i].function = add_function(p, arena, l, lines[i].function);
	}
	profile_set_lines(p, location, lines, count);
	return profile_err(p);
}

int nameless_name_all(struct profile *p)
{
	_cleanup_(arena_done) struct arena arena;
	int r = 0;

	arena_init(&arena, NAMES_BYTES_MAX);
	for (u32 i = 1; i < p->locations.count && r == 0; i++) {
		const struct profile_location *l = &p->locations.at[i];
		bool lacks = !l->line_count;

		for (u32 k = 0; k < l->line_count && !lacks; k++)
			lacks = !has_name(p, &l->lines[k]);
		if (lacks)
			r = name_lines(p, &arena, i);
	}
	return r < 0 ? r : arena_err(&arena);
}
