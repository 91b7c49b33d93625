// SPDX-License-Identifier: Apache-2.0
#include "analysis/line_sums.h"

#include <errno.h>

#include "analysis/reshape.h"
#include "profile/profile.h"
#include "test.h"

static struct profile *profile;
static struct profile_set *set;

static u32 function(const char *name, const char *file)
{
	return profile_add_function(profile, &(struct profile_function){
		.name = profile_add_cstring(profile, name), .filename = profile_add_cstring(profile, file),
		.start_line = 5 });
}

static u32 location(const char *exe, const struct profile_line *lines, u32 count)
{
	u32 mapping = profile_add_mapping(profile, &(struct profile_mapping){
		.filename = profile_add_cstring(profile, exe) });

	return profile_add_location(profile, &(struct profile_location){ .mapping = mapping, .line_count = count,
									 .lines = lines });
}

static u32 at(const char *name, const char *file, s64 line)
{
	struct profile_line lines = { .function = function(name, file), .line = line };

	return location("/bin/shop", &lines, 1);
}

/* Innermost first. */
static void sample(const u32 *stack, u32 count, s64 value)
{
	struct profile_sample *added = profile_add_sample(profile, set);

	OK(added);
	added->stack = profile_add_stack(profile, stack, count);
	added->values = profile_copy(profile, &value, sizeof(value));
	added->value_count = 1;
}

static void begin(void)
{
	profile = profile_new();
	set = profile_add_set(profile, profile_add_scope(profile, profile_add_resource(profile, NULL, 0)));
	OK(set);
	set->sample_type.unit = profile_add_cstring(profile, "count");
	set->period_type.unit = profile_add_cstring(profile, "nanoseconds");
	set->period = 10000000;
}

/* want: "FILE:LINE SELF TOTAL;" in the order of their first samples. */
static void sums_are(const char *name, const char *home, const char *want)
{
	struct reshape_function wanted = { name, home };
	struct line_sums sums;
	char got[512] = "";
	size_t len = 0;

	EQ(profile_err(profile), 0);
	EQ(line_sums_init(&sums, profile, &wanted), 0);
	for (u32 i = 0; i < sums.rows.count; i++) {
		const struct line_sum *row = (const struct line_sum *)sums.rows.rows + i;
		struct str file = profile->strings.at[row->file];

		EQ(row->start, 5);
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%.*s:%u %lld %lld;", (int)file.len,
					file.len ? file.at : "", row->line, row->self, row->total);
	}
	STREQ(got, want);
	line_sums_done(&sums);
}

TEST(line_sums_are_of_the_lines_that_a_function_was_at)
{
	begin();
	sample((u32[]){ at("pay", "a.c", 10), at("main", "m.c", 3) }, 2, 3);
	sample((u32[]){ at("pay", "a.c", 12), at("main", "m.c", 3) }, 2, 5);
	sample((u32[]){ at("pay", "a.c", 0) }, 1, 3);
	sample((u32[]){ at("pay", "a.c", -1) }, 1, 2);
	sample((u32[]){ at("pay", "a.c", 1ll << 40) }, 1, 2);
	sample((u32[]){ at("add", "b.c", 40), at("pay", "a.c", 12), at("main", "m.c", 4) }, 3, 20);
	sums_are("pay", NULL, "a.c:10 3 3;a.c:12 5 25;a.c:0 7 7;");
	sums_are("main", "/bin/shop", "m.c:3 0 8;m.c:4 0 20;");
	sums_are("main", "/bin/other", "");
	sums_are("", NULL, "");
	profile_free(profile);
}

TEST(line_sums_count_recursion_once_where_it_is_innermost)
{
	begin();
	sample((u32[]){ at("f", "a.c", 10), at("f", "a.c", 20), at("f", "a.c", 0) }, 3, 4);
	sample((u32[]){ at("g", "a.c", 1), at("f", "a.c", 20), at("g", "a.c", 2), at("f", "a.c", 21) }, 4, 8);
	sums_are("f", NULL, "a.c:10 4 4;a.c:20 0 8;");
	profile_free(profile);
}

TEST(line_sums_know_inlined_functions)
{
	begin();
	{
		struct profile_line lines[] = { { .function = function("spin", "s.h"), .line = 42 },
						{ .function = function("work", "w.c"), .line = 7 } };

		sample((u32[]){ location("/bin/shop", lines, 2) }, 1, 9);
	}
	sums_are("spin", NULL, "s.h:42 9 9;");
	sums_are("work", NULL, "w.c:7 0 9;");
	profile_free(profile);
}

TEST(line_sums_tell_functions_of_scripts_by_their_source)
{
	struct profile_line lines;

	begin();
	lines = (struct profile_line){ .function = function("go", "/app/x.py"), .line = 3 };
	sample((u32[]){ location("", &lines, 1) }, 1, 1);
	lines = (struct profile_line){ .function = function("go", "/app/y.py"), .line = 4 };
	sample((u32[]){ location("", &lines, 1) }, 1, 2);
	sums_are("go", "/app/y.py", "/app/y.py:4 2 2;");
	sums_are("go", NULL, "/app/x.py:3 1 1;/app/y.py:4 2 2;");
	profile_free(profile);
}

TEST(line_sums_say_what_values_are)
{
	struct reshape_function wanted = { "pay", NULL };
	struct profile_set *other;
	struct line_sums sums;

	begin();
	sample((u32[]){ at("add", "a.c", 10) }, 1, 3);
	EQ(line_sums_init(&sums, profile, &wanted), 0);
	EQ(sums.all, 3);
	OK(str_is(sums.unit, "count"));
	EQ(sums.period_ns, 10000000);
	line_sums_done(&sums);
	other = profile_add_set(profile, profile_add_scope(profile, profile_add_resource(profile, NULL, 0)));
	other->sample_type.unit = profile_add_cstring(profile, "bytes");
	EQ(line_sums_init(&sums, profile, &wanted), 0);
	OK(str_is(sums.unit, ""));
	EQ(sums.period_ns, 0);
	line_sums_done(&sums);
	profile_free(profile);
}

TEST(line_sums_survive_a_lack_of_memory)
{
	struct reshape_function wanted = { "pay", NULL };
	struct line_sums sums;
	int r = -1;

	begin();
	sample((u32[]){ at("pay", "a.c", 10), at("main", "m.c", 3) }, 2, 3);
	for (long i = 0; r < 0; i++) {
		test_alloc_fail(i);
		r = line_sums_init(&sums, profile, &wanted);
		line_sums_done(&sums);
		OK(test_alloc_reset() > i || r == 0);
		OK(r == 0 || r == -ENOMEM);
	}
	profile_free(profile);
}
