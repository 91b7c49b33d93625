// SPDX-License-Identifier: Apache-2.0
#include "base/str.h"

#include "test.h"

TEST(str_compares_by_length_and_bytes)
{
	const struct str none = { 0 };

	OK(str_is(STR("ab"), "ab"));
	OK(!str_is(STR("ab"), "a") && !str_is(STR("a"), "ab") && !str_is(STR("ab"), "aB"));
	OK(str_is(none, "") && str_equal(none, STR("")));
	OK(str_starts(STR("abc"), "ab") && str_starts(STR("ab"), "ab") && str_starts(none, ""));
	OK(!str_starts(STR("a"), "ab") && !str_starts(STR("bab"), "ab") && !str_starts(none, "a"));
	OK(str_ends(STR("cab"), "ab") && str_ends(STR("ab"), "ab") && str_ends(none, ""));
	OK(!str_ends(STR("b"), "ab") && !str_ends(STR("abc"), "ab") && !str_ends(none, "a"));
}

TEST(str_trim_takes_blanks_off_both_ends)
{
	OK(str_is(str_trim(STR(" \ta b\t ")), "a b"));
	EQ(str_trim(STR(" \t ")).len, 0);
	EQ(str_trim((struct str){ 0 }).len, 0);
}

TEST(str_cut_gives_each_part_once)
{
	static const char *const parts[] = { "a", "", "bc" };
	struct str rest = STR("a,,bc,"), part;
	u32 count = 0;

	for (; str_cut(&rest, ',', &part); count++) {
		OK(count < 3);
		OK(str_is(part, parts[count]));
	}
	EQ(count, 3);
	rest = STR("whole");
	OK(str_cut(&rest, ',', &part) && str_is(part, "whole") && !rest.len);
	OK(!str_cut(&rest, ',', &part));
}

TEST(str_base_name_is_what_follows_the_last_slash)
{
	OK(str_is(str_base_name(STR("/usr/bin/x")), "x"));
	OK(str_is(str_base_name(STR("x")), "x"));
	OK(str_is(str_base_name(STR("/usr/")), "/usr/"));
	EQ(str_base_name((struct str){ 0 }).len, 0);
}
