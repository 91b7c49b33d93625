// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <errno.h>

#include "profile/table.h"
#include "test.h"

TEST(profile_starts_with_the_zero_row_of_every_table)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();

	OK(p);
	EQ(p->strings.count, 1);
	EQ(p->mappings.count, 1);
	EQ(p->locations.count, 1);
	EQ(p->functions.count, 1);
	EQ(p->links.count, 1);
	EQ(p->attributes.count, 1);
	EQ(p->stacks.count, 1);
	EQ(profile_check(p), 0);
	EQ(profile_err(p), 0);
}

TEST(profile_gives_equal_rows_equal_numbers)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_function f = { .start_line = 7 };
	struct profile_link link = { .trace_id = { 1 }, .span_id = { 2 } };
	u32 main_name;

	EQ(profile_add_cstring(p, ""), 0);
	main_name = profile_add_cstring(p, "main");
	EQ(profile_add_string(p, "mainly", 4), main_name);
	OK(profile_add_cstring(p, "mainly") != main_name);
	f.name = main_name;
	EQ(profile_add_function(p, &f), 1);
	EQ(profile_add_function(p, &f), 1);
	f.start_line = 8;
	EQ(profile_add_function(p, &f), 2);
	EQ(profile_add_link(p, &(struct profile_link){ 0 }), 0);
	EQ(profile_add_link(p, &link), 1);
	link.span_id[7] = 1;
	EQ(profile_add_link(p, &link), 2);
	EQ(profile_add_attribute_int(p, "thread.id", 5), 1);
	EQ(profile_add_attribute_string(p, "thread.id", "5"), 2);
	EQ(profile_add_attribute_int(p, "thread.id", 5), 1);
}

TEST(profile_compares_what_rows_point_to_and_copies_it)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	u32 indices[3] = { 1, 2, 3 };
	struct profile_line lines[2] = { { .function = 1, .line = 10 }, { .function = 2, .line = 20 } };
	struct profile_location l = { .address = 0x1000, .line_count = 2, .lines = lines,
				      .attributes = { indices, 2 } };
	struct profile_mapping m = { .start_va = 0x1000, .attributes = { indices, 1 } };

	EQ(profile_add_stack(p, indices, 3), 1);
	EQ(profile_add_stack(p, indices, 2), 2);
	EQ(profile_add_location(p, &l), 1);
	EQ(profile_add_mapping(p, &m), 1);
	lines[1].line = 21;
	EQ(profile_add_location(p, &l), 2);
	EQ(p->locations.at[1].lines[1].line, 20);
	indices[0] = 9;
	EQ(profile_add_location(p, &l), 3);
	EQ(profile_add_mapping(p, &m), 2);
	EQ(profile_add_stack(p, indices, 3), 3);
	EQ(p->stacks.at[1].at[0], 1);
	indices[0] = 1;
	EQ(profile_add_stack(p, indices, 3), 1);
	EQ(profile_add_stack(p, indices, 0), 0);
}

TEST(profile_compares_nested_values)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct any inner[2] = { { .kind = ANY_INT, .integer = 1 }, { .kind = ANY_DOUBLE, .real = 0.5 } };
	struct keyvalue map[1] = { { STR("list"), { .kind = ANY_ARRAY, .count = 2, .array = inner } } };
	struct profile_attribute a = { .key = profile_add_cstring(p, "k"),
				       .value = { .kind = ANY_MAP, .count = 1, .map = map } };

	EQ(profile_add_attribute(p, &a), 1);
	EQ(profile_add_attribute(p, &a), 1);
	inner[1].real = -0.5;
	EQ(profile_add_attribute(p, &a), 2);
	a.value.count = 0;
	EQ(profile_add_attribute(p, &a), 3);
	a.value = (struct any){ .kind = ANY_BYTES, .string = STR("x") };
	EQ(profile_add_attribute(p, &a), 4);
	a.value.kind = ANY_STRING;
	EQ(profile_add_attribute(p, &a), 5);
	a.value = (struct any){ .kind = ANY_BOOL, .boolean = true };
	EQ(profile_add_attribute(p, &a), 6);
	EQ(p->attributes.at[1].value.map[0].value.array[1].real == 0.5, 1);
}

TEST(profile_adds_find_what_was_appended)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();

	for (int i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i / 2);
		EQ(profile_append_string(p, profile_copy_str(p, name, strlen(name))), i + 1);
	}
	EQ(profile_add_cstring(p, "f0"), 1);
	EQ(profile_add_cstring(p, "f149"), 299);
	EQ(profile_add_cstring(p, "new"), 301);
	EQ(profile_append_string(p, profile_copy_str(p, "new", 3)), 302);
	EQ(profile_add_cstring(p, "new"), 301);
}

TEST(profile_numbers_stay_while_tables_grow)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();

	for (u32 i = 1; i < 20000; i++)
		EQ(profile_add_stack(p, (u32[]){ i, i * 7, 3 }, 3), i);
	for (u32 i = 1; i < 20000; i++)
		EQ(profile_add_stack(p, (u32[]){ i, i * 7, 3 }, 3), i);
	EQ(p->stacks.count, 20000);
	OK(profile_bytes(p) > 20000 * (sizeof(struct indices) + 12));
}

TEST(profile_holds_resources_scopes_sets_and_samples)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct keyvalue kv = { STR("process.pid"), { .kind = ANY_INT, .integer = 42 } };

	for (int i = 0; i < 100; i++) {
		struct profile_resource *r = profile_add_resource(p, &kv, 1);
		struct profile_scope *scope = profile_add_scope(p, r);
		struct profile_set *set = profile_add_set(p, scope);

		for (int s = 0; s < 10; s++)
			profile_add_sample(p, set)->stack = 0;
		EQ(set->sample_count, 10);
	}
	EQ(profile_err(p), 0);
	EQ(profile_check(p), 0);
	EQ(p->resources.count, 100);
	EQ(keyvalue_find(p->resources.at[99].attributes, 1, "process.pid")->integer, 42);
	OK(!keyvalue_find(p->resources.at[99].attributes, 1, "process.pi"));
}

TEST(profile_finds_attributes_by_key)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	u32 list[2] = { profile_add_attribute_int(p, "thread.id", 7),
			profile_add_attribute_string(p, "thread.name", "worker") };

	EQ(profile_attribute_find(p, (struct indices){ list, 2 }, "thread.name")->string.len, 6);
	OK(!profile_attribute_find(p, (struct indices){ list, 1 }, "thread.name"));
}

TEST(profile_sample_weighs_its_values_or_its_times)
{
	s64 values[3] = { 5, -2, 4 };
	u64 times[4] = { 1, 2, 3, 4 };

	EQ(profile_sample_value(&(struct profile_sample){ .value_count = 3, .values = values }), 7);
	EQ(profile_sample_value(&(struct profile_sample){ .time_count = 4, .times_unix_ns = times }), 4);
	EQ(profile_sample_value(&(struct profile_sample){ .value_count = 1, .values = values, .time_count = 4,
							  .times_unix_ns = times }), 5);
	EQ(profile_sample_value(&(struct profile_sample){ 0 }), 0);
}

static int check_sample(struct profile_sample sample)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));

	*profile_add_sample(p, set) = sample;
	return profile_check(p);
}

TEST(profile_check_refuses_indices_out_of_range)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_line line = { .function = 1 };
	u32 one = 1;

	EQ(check_sample((struct profile_sample){ 0 }), 0);
	EQ(check_sample((struct profile_sample){ .stack = 1 }), -EBADMSG);
	EQ(check_sample((struct profile_sample){ .link = 1 }), -EBADMSG);
	EQ(check_sample((struct profile_sample){ .attributes = { &one, 1 } }), -EBADMSG);
	EQ(check_sample((struct profile_sample){ .value_count = 2, .time_count = 3 }), -EBADMSG);
	profile_add_location(p, &(struct profile_location){ .line_count = 1, .lines = &line });
	EQ(profile_check(p), -EBADMSG);
	profile_add_function(p, &(struct profile_function){ .start_line = 1 });
	EQ(profile_check(p), 0);
	profile_add_function(p, &(struct profile_function){ .filename = 1 });
	EQ(profile_check(p), -EBADMSG);
	profile_add_cstring(p, "a file");
	EQ(profile_check(p), 0);
	profile_add_stack(p, (u32[]){ 1, 2 }, 2);
	EQ(profile_check(p), -EBADMSG);
	profile_add_location(p, &(struct profile_location){ .mapping = 1 });
	EQ(profile_check(p), -EBADMSG);
	profile_add_mapping(p, &(struct profile_mapping){ .filename = 1, .attributes = { &one, 1 } });
	EQ(profile_check(p), -EBADMSG);
	profile_add_attribute(p, &(struct profile_attribute){ .key = 2 });
	EQ(profile_check(p), -EBADMSG);
	profile_add_cstring(p, "a key");
	EQ(profile_check(p), 0);
}

/* Uses every adder once; each result but the last is allowed to be a failure. */
static int build(void)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct keyvalue kv = { STR("k"), { .kind = ANY_STRING, .string = STR("v") } };
	struct any item = { .kind = ANY_STRING, .string = STR("item") };
	struct profile_line line = { .function = 0, .line = 1 };
	u32 attribute;

	if (!p)
		return -ENOMEM;
	attribute = profile_add_attribute(p, &(struct profile_attribute){ .key = profile_add_cstring(p, "key"),
		.value = { .kind = ANY_ARRAY, .count = 1, .array = &item } });
	profile_add_mapping(p, &(struct profile_mapping){ .start_va = 1, .attributes = { &attribute, 1 } });
	profile_add_location(p, &(struct profile_location){ .address = 1, .line_count = 1, .lines = &line });
	profile_add_stack(p, (u32[]){ 1 }, 1);
	for (int i = 0; i < 100; i++)
		profile_add_string(p, (char[]){ 'a' + i % 26, '0' + i / 26 }, 2);
	profile_add_sample(p, profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &kv, 1))));
	if (profile_err(p) == 0)
		EQ(profile_check(p), 0);
	return profile_err(p);
}

TEST(profile_survives_every_failed_allocation)
{
	long count;

	test_alloc_fail(-1);
	EQ(build(), 0);
	count = test_alloc_reset();
	OK(count > 10);
	for (long i = 0; i < count; i++) {
		test_alloc_fail(i);
		EQ(build(), -ENOMEM);
		test_alloc_reset();
	}
}

static u64 small_hash(const void *row, u64 seed)
{
	return 0;	/* all collide */
}

static bool small_equal(const void *a, const void *b)
{
	return *(const u8 *)a == *(const u8 *)b;
}

TEST(table_stops_at_its_limit)
{
	static const struct table_type type = { 1, small_hash, small_equal, NULL };
	struct table t;

	table_init(&t, &type, NULL, 0, 100);
	for (u8 i = 0; i < 100; i++)
		EQ(table_add(&t, &i), i);
	for (u8 i = 0; i < 100; i++)
		EQ(table_add(&t, &i), i);
	EQ(table_add(&t, &(u8){ 100 }), -E2BIG);
	EQ(table_append(&t, &(u8){ 1 }), -E2BIG);
	table_done(&t);
}

TEST(table_keeps_its_rows_when_more_are_expected)
{
	static const struct table_type type = { 1, small_hash, small_equal, NULL };
	struct table t;
	const u8 *rows;

	table_init(&t, &type, NULL, 0, 100);
	for (u8 i = 0; i < 10; i++)
		EQ(table_add(&t, &i), i);
	EQ(table_reserve(&t, 101), -E2BIG);
	EQ(table_reserve(&t, 100), 0);
	rows = t.rows;
	for (u8 i = 10; i < 100; i++)
		EQ(table_append(&t, &i), i);
	EQ(table_reserve(&t, 3), 0);
	OK(t.rows == rows);
	for (u8 i = 0; i < 100; i++)
		EQ(table_add(&t, &i), i);
	table_done(&t);
}
