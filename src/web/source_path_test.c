// SPDX-License-Identifier: Apache-2.0
#include "web/source_path.h"

#include <string.h>

#include "test.h"

TEST(source_path_is_cleaned_by_its_text)
{
	static const char *const cases[][2] = {
		{ "a.c", "a.c" }, { "/a.c", "/a.c" }, { "./src//x/./a.c", "src/x/a.c" }, { "/b/../s/a.c", "/s/a.c" },
		{ "../../s/a.c", "s/a.c" }, { "/../../../etc/passwd", "/etc/passwd" }, { "s/../../../a.c", "a.c" },
		{ "/src/x/../../../etc/shadow.c", "/etc/shadow.c" }, { "..a/b..c", "..a/b..c" }, { "/a/", "/a" },
	};
	static const char *const refused[] = { "", "/", ".", "..", "//", "a/..", "/a/b/../.." };
	char path[SOURCE_PATH_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		OK(source_path_clean(str_of(cases[i][0]), path));
		STREQ(path, cases[i][1]);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (source_path_clean(str_of(refused[i]), path))
			FAIL("\"%s\" became \"%s\"", refused[i], path);
}

TEST(source_path_refuses_what_hides_or_is_too_long)
{
	char path[SOURCE_PATH_BYTES], text[2 * SOURCE_PATH_BYTES];

	OK(!source_path_clean(STR("a\0.c"), path));
	OK(!source_path_clean(STR("/etc/shadow\0.c"), path));
	memset(text, 'a', sizeof(text));
	OK(!source_path_clean((struct str){ text, SOURCE_PATH_BYTES }, path));
	OK(!source_path_clean((struct str){ text, 256 }, path));
	OK(source_path_clean((struct str){ text, 255 }, path));
	for (size_t i = 1; i < sizeof(text); i += 2)
		text[i] = '/';
	OK(!source_path_clean((struct str){ text, 2 * SOURCE_PARTS_MAX + 1 }, path));
	OK(source_path_clean((struct str){ text, 2 * SOURCE_PARTS_MAX }, path));
	EQ(strlen(path), 2 * SOURCE_PARTS_MAX - 1);
}

TEST(source_path_is_that_of_a_source_by_its_ending)
{
	static const char *const good[] = { "a.c", "/x/b.rs", "x/y.z.go", "s.S", "app.py", "x.tar.cc" };
	static const char *const bad[] = { "/etc/passwd", "/etc/shadow", "c", ".c", "x/.py", "a.c/b", "id_rsa", "k.pem",
					   "a.C1", "a.", "wick.yaml", ".env", "a.json", "", "x.c~", "a.so" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		OK(source_path_is_source(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (source_path_is_source(bad[i]))
			FAIL("%s is taken for source", bad[i]);
}

TEST(source_path_is_mapped_by_the_longest_beginning)
{
	static const struct config_pair at[] = { { "/build", "/src" }, { "/build/x/", "/src/y/" }, { "rel", "/rel" },
						 { "", "/etc" }, { "/", "/etc" }, { "/up", "/src/../../etc" } };
	static const struct config_pairs map = { sizeof(at) / sizeof(at[0]), at };
	static const char *const cases[][2] = {
		{ "/build/a.c", "/src/a.c" }, { "/build/x/a.c", "/src/y/a.c" }, { "/building/a.c", "/building/a.c" },
		{ "rel/a.c", "/rel/a.c" }, { "/rel/a.c", "/rel/a.c" }, { "/build", "/build" },
		{ "/up/a.c", "/etc/a.c" },
	};
	char path[SOURCE_PATH_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		OK(source_path_clean(str_of(cases[i][0]), path));
		OK(source_path_map(path, &map));
		STREQ(path, cases[i][1]);
	}
}

TEST(source_path_that_grows_too_long_is_refused)
{
	char to[SOURCE_PATH_BYTES], path[SOURCE_PATH_BYTES] = "/b/a.c";
	struct config_pair at = { "/b", to };

	memset(to, '/', sizeof(to));
	to[sizeof(to) - 1] = '\0';
	OK(!source_path_map(path, &(struct config_pairs){ 1, &at }));
}

TEST(source_path_becomes_shorter_part_by_part)
{
	const char *path = "/b/s/a.c";

	path = source_path_shorter(path);
	STREQ(path, "b/s/a.c");
	path = source_path_shorter(path);
	STREQ(path, "s/a.c");
	path = source_path_shorter(path);
	STREQ(path, "a.c");
	OK(!source_path_shorter(path));
}

TEST(source_path_is_below_a_directory_or_not)
{
	STREQ(source_path_below("/src/x/a.c", "/src"), "x/a.c");
	STREQ(source_path_below("/src/x/a.c", "/src/x//"), "a.c");
	OK(!source_path_below("/srcs/a.c", "/src"));
	OK(!source_path_below("/src", "/src"));
	OK(!source_path_below("/src/a.c", "/"));
	OK(!source_path_below("/src/a.c", ""));
}
