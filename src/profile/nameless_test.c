// SPDX-License-Identifier: Apache-2.0
#include "profile/nameless.h"

#include <errno.h>

#include "test.h"

static bool is(const struct profile *p, u32 location, u32 line, const char *name)
{
	const struct profile_location *l = &p->locations.at[location];
	struct str s = p->strings.at[p->functions.at[l->lines[line].function].name];

	return l->line_count > line && s.len == strlen(name) && !memcmp(s.at, name, s.len);
}

static u32 location(struct profile *p, const char *file, u64 address, const struct profile_line *lines, u32 count)
{
	struct profile_mapping mapping = { .filename = profile_add_cstring(p, file) };

	return profile_add_location(p, &(struct profile_location){
		.mapping = *file ? profile_add_mapping(p, &mapping) : 0, .address = address, .lines = lines,
		.line_count = count });
}

static u32 function(struct profile *p, const char *name, const char *file)
{
	return profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, name),
								    .filename = profile_add_cstring(p, file) });
}

TEST(nameless_frames_get_the_name_of_their_address)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_line lines[] = { { .function = function(p, "inner", "a.c"), .line = 3 },
					{ .function = function(p, "", "b.c"), .line = 4 } };
	u32 bare = location(p, "/usr/lib/libx.so", 0x1230, NULL, 0), mixed = location(p, "/bin/prog", 0x40, lines, 2);
	u32 nowhere = location(p, "", 0x50, NULL, 0), nothing = location(p, "", 0, lines + 1, 1);

	EQ(nameless_name_all(p), 0);
	EQ(profile_check(p), 0);
	OK(is(p, bare, 0, "libx.so+0x1230"));
	OK(is(p, mixed, 0, "inner"));
	OK(is(p, mixed, 1, "prog+0x40"));
	EQ(p->locations.at[mixed].lines[1].line, 4);
	OK(is(p, nowhere, 0, "0x50"));
	OK(is(p, nothing, 0, "[unknown]"));
}

TEST(nameless_frames_get_the_name_that_the_linker_knows)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_line line = {
		.function = profile_add_function(p, &(struct profile_function){
			.system_name = profile_add_cstring(p, "_Z1fv") }),
	};
	u32 number = location(p, "/bin/prog", 0x40, &line, 1);

	EQ(nameless_name_all(p), 0);
	OK(is(p, number, 0, "_Z1fv"));
}

TEST(nameless_frames_do_not_repeat_what_is_too_long_for_a_file)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	char file[600], wanted[300];
	u32 number;

	memset(file, 'x', sizeof(file) - 1);
	memcpy(file, "/lib/", 5);
	file[5 + 254] = '\xc3';			/* a character of two bytes, where it is cut */
	file[5 + 255] = '\xa4';
	file[sizeof(file) - 1] = '\0';
	snprintf(wanted, sizeof(wanted), "%.254s+0x40", file + 5);
	number = location(p, file, 0x40, NULL, 0);
	EQ(nameless_name_all(p), 0);
	OK(is(p, number, 0, wanted));
}

TEST(nameless_survives_running_out_of_memory)
{
	for (long after = 0;; after++) {
		_cleanup_(profile_freep) struct profile *p = profile_new();
		int r;

		location(p, "/usr/lib/libx.so", 0x1230, NULL, 0);
		test_alloc_fail(after);
		r = nameless_name_all(p);
		test_alloc_reset();
		if (r == 0)
			break;
		EQ(r, -ENOMEM);
	}
}
