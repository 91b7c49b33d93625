// SPDX-License-Identifier: Apache-2.0
#include "wire/views/folded.h"

#include <errno.h>

#include "kinds/kind.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

#define BYTES_MAX ((size_t)64 << 20)

static void expect_text(const struct profile *p, const char *text)
{
	struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(folded_encode(p, &b), 0);
	buf_add(&b, "", 1);
	STREQ(b.data, text);
	buf_done(&b);
}

TEST(folded_text_survives_reading_and_writing)
{
	static const char text[] = "main;parse;read 3\nmain;f(int, char);sys_read_[k] 10\nmain 1\n";
	_cleanup_(profile_freep) struct profile *p = NULL;
	const struct profile_set *set;
	struct indices stack;

	EQ(folded_decode(text, sizeof(text) - 1, &p), 0);
	EQ(profile_check(p), 0);
	expect_text(p, text);
	set = &p->resources.at[0].scopes[0].sets[0];
	EQ(set->sample_count, 3);
	stack = p->stacks.at[set->samples[1].stack];
	EQ(stack.count, 3);
	OK(profile_attribute_find(p, p->locations.at[stack.at[0]].attributes, "profile.frame.type"));
	OK(!profile_attribute_find(p, p->locations.at[stack.at[2]].attributes, "profile.frame.type"));
}

TEST(folded_reads_what_other_tools_write)
{
	static const char text[] = "# comment\r\n\r\na;b 1\r\na;;b 2\na;b 4";
	_cleanup_(profile_freep) struct profile *p = NULL;

	EQ(folded_decode(text, sizeof(text) - 1, &p), 0);
	expect_text(p, "a;b 5\na;[unknown];b 2\n");
}

/* As differences are. */
TEST(folded_keeps_counts_below_zero)
{
	static const char text[] = "a;b -3\nc -9223372036854775808\nd 9223372036854775807\n";
	_cleanup_(profile_freep) struct profile *p = NULL;

	EQ(folded_decode(text, sizeof(text) - 1, &p), 0);
	EQ(profile_sample_value(&p->resources.at[0].scopes[0].sets[0].samples[0]), -3);
	expect_text(p, text);
}

TEST(folded_refuses_lines_without_a_count)
{
	static const char *const texts[] = { "a;b", "a;b x", "a;b 1x", " 5", "17", "a 99999999999999999999", "a1",
					     "a;b-1", "a;b --1", "a;b -", "-1", " -1", "a -9223372036854775809",
					     "a\n" };
	struct profile *p = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		EQ(folded_decode(texts[i], strlen(texts[i]), &p), -EBADMSG);
	EQ(folded_decode("", 0, &p), 0);
	expect_text(p, "");
	profile_free(p);
}

static u32 add_named(struct profile *p, const char *name, u64 address)
{
	struct profile_line line = { .function = profile_add_function(p, &(struct profile_function){
		.name = profile_add_cstring(p, name) }) };

	return profile_add_location(p, &(struct profile_location){
		.line_count = 1, .lines = &line, .address = address });
}

TEST(folded_names_processes_inlines_and_addresses)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct keyvalue kv = { STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("my;prog") } };
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &kv, 1)));
	u32 inner = profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, "inlined") });
	u32 outer = profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, "outer\n") });
	struct profile_line lines[2] = { { .function = inner }, { .function = outer } };
	u32 mapping = profile_add_mapping(p, &(struct profile_mapping){
		.filename = profile_add_cstring(p, "/lib/x.so") });
	u32 kernel = profile_add_mapping(p, &(struct profile_mapping){
		.filename = profile_add_cstring(p, "[kernel]") });
	u32 stack[4] = {
		profile_add_location(p, &(struct profile_location){ .mapping = kernel, .address = 16 }),
		profile_add_location(p, &(struct profile_location){ .mapping = mapping, .address = 0x1230 }),
		profile_add_location(p, &(struct profile_location){ .line_count = 2, .lines = lines }),
		add_named(p, "main", 1),
	};
	struct profile_sample *s = profile_add_sample(p, set);

	s->stack = profile_add_stack(p, stack, 4);
	s->time_count = 2;
	s->times_unix_ns = (u64[]){ 1, 2 };
	stack[3] = add_named(p, "main", 2);
	s = profile_add_sample(p, set);
	s->stack = profile_add_stack(p, stack, 4);
	s->time_count = 1;
	s->times_unix_ns = (u64[]){ 1 };
	profile_add_sample(p, set);
	expect_text(p, "my:prog;main;outer ;inlined;x.so+0x1230;[kernel]+0x10_[k] 3\nmy:prog 0\n");
}

/* 20 and 200 a second: ten of the one are as long as one of the other. */
TEST(folded_counts_ticks_of_different_clocks_as_time)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, NULL, 0));
	u32 slow = add_named(p, "slow", 1), fast = add_named(p, "fast", 2);
	s64 count[2] = { 1, 10 };

	for (u32 i = 0; i < 2; i++) {
		struct profile_set *set = profile_add_set(p, scope);
		struct profile_sample *s = profile_add_sample(p, set);

		profile_set_describe(p, set, kind_list[KIND_CPU], i ? 5000000 : 50000000);
		s->stack = profile_add_stack(p, i ? &fast : &slow, 1);
		s->value_count = 1;
		s->values = &count[i];
	}
	expect_text(p, "slow 50000000\nfast 50000000\n");
	scope->sets[1].period = 50000000;
	expect_text(p, "slow 1\nfast 10\n");
}

TEST(folded_writes_no_line_that_would_be_a_comment)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *q = NULL;
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));
	u32 stack[2] = { add_named(p, "#inner", 1), add_named(p, "#outer", 2) };
	struct profile_sample *s = profile_add_sample(p, set);

	s->stack = profile_add_stack(p, stack, 2);
	s->value_count = 1;
	s->values = (s64[]){ 4 };
	expect_text(p, " #outer;#inner 4\n");
	EQ(folded_decode(" #outer;#inner 4\n", 17, &q), 0);
	EQ(q->resources.at[0].scopes[0].sets[0].sample_count, 1);
}

TEST(folded_survives_every_failed_allocation)
{
	static const char text[] = "a;b;c 1\nd;e_[k] 2\n";
	struct profile *p = profile_random(1, 0), *q;
	struct buf b;
	long count;
	int r;

	test_alloc_fail(-1);
	EQ(folded_decode(text, sizeof(text) - 1, &q), 0);
	count = test_alloc_reset();
	profile_free(q);
	for (long i = 0; i < count; i++) {
		test_alloc_fail(i);
		r = folded_decode(text, sizeof(text) - 1, &q);
		test_alloc_reset();
		EQ(r, -ENOMEM);
	}
	buf_init(&b, BYTES_MAX);
	test_alloc_fail(-1);
	EQ(folded_encode(p, &b), 0);
	count = test_alloc_reset();
	buf_done(&b);
	for (long i = 0; i < count; i++) {
		buf_init(&b, BYTES_MAX);
		test_alloc_fail(i);
		r = folded_encode(p, &b);
		test_alloc_reset();
		EQ(r, -ENOMEM);
		buf_done(&b);
	}
	profile_free(p);
}
