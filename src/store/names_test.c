// SPDX-License-Identifier: Apache-2.0
#include "store/names.h"

#include <stdio.h>
#include <string.h>

#include "profile/any.h"
#include "test.h"

#define ID STR("00112233445566778899")
#define PATH STR("/usr/bin/prog")
#define NOTHING STR("")

static int put(struct names *names, u64 address, u64 start, const char *name, enum name_source source)
{
	struct name_function function = { .start = start, .name = { name, (u32)strlen(name) }, .source = source };

	return names_put(names, ID, address, &function);
}

static bool is_called(const struct names *names, u64 address, const char *name)
{
	const struct name_function *function = names_find(names, ID, address);

	return function && str_equal(function->name, (struct str){ name, (u32)strlen(name) });
}

TEST(names_join_the_addresses_of_a_function)
{
	_cleanup_(names_freep) struct names *names = names_new();

	OK(names);
	EQ(names_want(names, ID, PATH, 0x1010), 0x1010);
	EQ(names_want(names, ID, PATH, 0x1020), 0x1020);
	EQ(names_want(names, ID, PATH, 0x1010), 0x1010);
	OK(!names_find(names, ID, 0x1010));
	EQ(put(names, 0x1010, 0x1000, "main", NAME_LOCAL), NAMES_NAMED | NAMES_NEWS | NAMES_PLACED);
	EQ(put(names, 0x1020, 0x1000, "main", NAME_LOCAL), NAMES_NAMED | NAMES_PLACED);
	EQ(put(names, 0x1020, 0x1000, "main", NAME_LOCAL), 0);
	OK(names_find(names, ID, 0x1010) == names_find(names, ID, 0x1020));
	OK(is_called(names, 0x1000, "main"));
	/* What comes now is kept by the start. */
	EQ(names_want(names, ID, PATH, 0x1020), 0x1000);
	EQ(names_stats(names).addresses, 2);
	EQ(names_stats(names).named, 2);
	OK(!names_find(names, STR("ff"), 0x1010));
}

TEST(names_may_come_after_the_bounds_of_a_function)
{
	_cleanup_(names_freep) struct names *names = names_new();
	u64 unnamed[4];

	EQ(names_want(names, ID, PATH, 0x1010), 0x1010);
	EQ(put(names, 0x1010, 0x1000, "", NAME_LOCAL), NAMES_PLACED);
	EQ(put(names, 0x1010, 0x1000, "", NAME_LOCAL), 0);
	EQ(names_want(names, ID, PATH, 0x1010), 0x1000);
	EQ(names_unnamed(names, names_exe(names, 0)->newest, 0, unnamed, 4), 1);
	EQ(unnamed[0], 0x1010);
	EQ(put(names, 0x1010, 0x1000, "late", NAME_UPLOADED), NAMES_NAMED | NAMES_NEWS);
	EQ(names_find(names, ID, 0x1000)->source, NAME_UPLOADED);
	EQ(names_unnamed(names, names_exe(names, 0)->newest, 0, unnamed, 4), 0);
	/* A file that knows less does not take a name away. */
	EQ(put(names, 0x1010, 0x1008, "", NAME_LOCAL), 0);
	OK(is_called(names, 0x1010, "late"));
	/* That a function starts where it was seen is nothing new. */
	EQ(put(names, 0x2000, 0x2000, "", NAME_LOCAL), 0);
	OK(!names_find(names, ID, 0x2000));
}

TEST(names_list_what_is_new)
{
	_cleanup_(names_freep) struct names *names = names_new();
	u64 unnamed[4];
	u32 tried;

	(void)names_want(names, ID, PATH, 0x10);
	(void)names_want(names, STR("other"), PATH, 0x10);
	tried = names_exe(names, 0)->newest;
	(void)names_want(names, ID, PATH, 0x20);
	EQ(names_unnamed(names, names_exe(names, 0)->newest, tried, unnamed, 4), 1);
	EQ(unnamed[0], 0x20);
	EQ(names_unnamed(names, names_exe(names, 0)->newest, 0, unnamed, 4), 2);
	EQ(names_unnamed(names, names_exe(names, 0)->newest, 0, unnamed, 1), 1);
	OK(!names_exe(names, 2));
}

TEST(names_look_again_once_somebody_tells_the_whole_path)
{
	_cleanup_(names_freep) struct names *names = names_new();
	struct names_exe *exe;

	EQ(names_want(names, ID, STR("prog"), 0x1010), 0x1010);
	exe = names_exe(names, 0);
	exe->tried = exe->newest;
	names_note_path(names, ID, STR("other"));
	OK(str_equal(exe->path, STR("prog")));
	EQ(exe->tried, exe->newest);
	names_note_path(names, ID, STR("/far/prog"));
	OK(str_equal(exe->path, STR("/far/prog")));
	EQ(exe->tried, 0);
	names_note_path(names, ID, STR("/elsewhere/prog"));
	OK(str_equal(exe->path, STR("/far/prog")));
}

TEST(names_need_a_build_id_that_fits)
{
	_cleanup_(names_freep) struct names *names = names_new();
	char text[NAMES_ID_BYTES_MAX + 1];

	memset(text, 'a', sizeof(text));
	EQ(names_want(names, NOTHING, PATH, 1), 1);
	EQ(names_want(names, (struct str){ text, sizeof(text) }, PATH, 1), 1);
	EQ(names_stats(names).exes, 0);
	EQ(names_want(names, (struct str){ text, sizeof(text) - 1 }, PATH, 1), 1);
	EQ(names_stats(names).exes, 1);
	EQ(names_stats(names).left_out, 0);
}

TEST(names_know_a_place_that_an_agent_made_up)
{
	static const struct {
		const char *name, *path;
		bool is_place;
		u64 address;
	} rows[] = {
		{ "prog+0x1230", "/usr/bin/prog", true, 0x1230 },
		{ "prog+0xffffffffffffffff", "prog", true, 0xffffffffffffffff },
		{ "prog+0x1ffffffffffffffff", "prog", false, 0 },
		{ "prog+0x", "/usr/bin/prog", false, 0 },
		{ "prog+0x12g", "/usr/bin/prog", false, 0 },
		{ "prog+1230", "/usr/bin/prog", false, 0 },
		{ "other+0x1230", "/usr/bin/prog", false, 0 },
		{ "+0x1230", "", false, 0 },
		{ "", "/usr/bin/prog", false, 0 },
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str name = { rows[i].name, (u32)strlen(rows[i].name) };
		struct str path = { rows[i].path, (u32)strlen(rows[i].path) };
		u64 address = 0;

		EQ(names_is_place(name, path, &address), rows[i].is_place);
		EQ(address, rows[i].address);
	}
}
