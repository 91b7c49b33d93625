// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/narrow.h"
#include "base/buf.h"
#include "base/clock.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "store/scratch_test.h"
#include "store/sqlite.h"
#include "test.h"

static const struct str names[] = { STR("main"), STR("work"), STR("spin") };

static u32 add_function(struct profile *p, u32 i)
{
	return profile_add_function(p, &(struct profile_function){
		.name = profile_add_string(p, names[i].at, names[i].len), .start_line = 10 * i + 1 });
}

/* main calls work, into which spin is inlined; at line 42. */
static u32 add_stack(struct profile *p)
{
	u32 mapping = profile_add_mapping(p, &(struct profile_mapping){
		.filename = profile_add_cstring(p, "/bin/prog") });
	struct profile_line lines[] = { { .function = add_function(p, 2), .line = 42 },
					{ .function = add_function(p, 1) } },
			    outer = { .function = add_function(p, 0) };
	u32 stack[] = { profile_add_location(p, &(struct profile_location){
				.mapping = mapping, .address = 0x1234, .lines = lines, .line_count = 2 }),
			profile_add_location(p, &(struct profile_location){
				.mapping = mapping, .address = 0x10, .lines = &outer, .line_count = 1 }) };

	return profile_add_stack(p, stack, 2);
}

static void add_process(struct profile *p, const char *process, s64 pid, u64 now_ns, u32 samples)
{
	struct keyvalue whose[] = { { STR("host.name"), { .kind = ANY_STRING, .string = STR("alpha") } },
				    { STR("process.executable.name"),
				      { .kind = ANY_STRING, .string = str_of(process) } },
				    { STR("process.pid"), { .kind = ANY_INT, .integer = pid } } };
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, whose, 3)));
	struct profile_link link = { .trace_id = { 7 }, .span_id = { 8 } };
	u32 attributes[] = { profile_add_attribute_int(p, "thread.id", pid + 1),
			     profile_add_attribute_string(p, "thread.name", "worker"),
			     profile_add_attribute_int(p, "cpu.logical_number", 3) };

	set->sample_type = (struct profile_type){ profile_add_cstring(p, "samples"), profile_add_cstring(p, "count") };
	set->period_type = (struct profile_type){ profile_add_cstring(p, "cpu"),
						  profile_add_cstring(p, "nanoseconds") };
	set->period = 50000000;
	for (u32 i = 0; i < samples; i++) {
		struct profile_sample *sample = profile_add_sample(p, set);
		u64 time_ns = now_ns - i * 50000000ull - 1000;

		sample->stack = add_stack(p);
		sample->attributes = profile_copy_indices(p, attributes, 3);
		sample->link = profile_add_link(p, &link);
		sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
		sample->time_count = 1;
	}
}

static struct store *filled_store(u64 now_ns)
{
	struct store *store = scratch_store();
	struct profile *p = profile_new();

	add_process(p, "shop", 12, now_ns, 3);
	add_process(p, "bank", 13, now_ns, 2);
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, now_ns), 0);
	profile_free(p);
	return store;
}

static struct profile *profile_of(struct store *store, u64 now_ns, const struct narrow *narrow)
{
	struct store_selection selection = { .from_ns = now_ns - 60 * SECOND_NS, .to_ns = now_ns + 1 };
	struct profile *p = NULL;
	struct buf why;

	buf_init(&why, 512);
	EQ(store_profile(store, &selection, narrow, &p, &why), 0);
	EQ(profile_check(p), 0);
	buf_done(&why);
	return p;
}

static const struct profile_resource *resource_of(const struct profile *p, const char *process)
{
	for (u32 i = 0; i < p->resources.count; i++) {
		const struct profile_resource *r = &p->resources.at[i];
		struct str name = any_text(keyvalue_find(r->attributes, r->attribute_count, "process.executable.name"));

		if (str_is(name, process))
			return r;
	}
	return NULL;
}

TEST(profile_of_a_selection_has_whose_samples_are_and_when)
{
	u64 now_ns = clock_ns(CLOCK_REALTIME);
	_cleanup_(store_closep) struct store *store = filled_store(now_ns);
	_cleanup_(profile_freep) struct profile *p = profile_of(store, now_ns, &(struct narrow){ 0 });
	const struct profile_resource *shop = resource_of(p, "shop");
	const struct profile_set *set;
	const struct profile_sample *sample;

	EQ(p->resources.count, 2);
	OK(shop);
	EQ(keyvalue_find(shop->attributes, shop->attribute_count, "process.pid")->integer, 12);
	OK(str_is(any_text(keyvalue_find(shop->attributes, shop->attribute_count, "host.name")), "alpha"));
	set = &shop->scopes[0].sets[0];
	EQ(set->period, 50000000);
	EQ(set->sample_count, 1);
	sample = &set->samples[0];
	EQ(sample->time_count, 3);
	EQ(profile_sample_value(sample), 3);
	EQ(sample->times_unix_ns[2], now_ns - 1000);
	EQ(profile_attribute_find(p, sample->attributes, "thread.id")->integer, 13);
	OK(str_is(any_text(profile_attribute_find(p, sample->attributes, "thread.name")), "worker"));
	EQ(profile_attribute_find(p, sample->attributes, "cpu.logical_number")->integer, 3);
	EQ(p->links.at[sample->link].trace_id[0], 7);
}

TEST(profile_of_a_selection_has_lines_and_what_is_inlined)
{
	u64 now_ns = clock_ns(CLOCK_REALTIME);
	_cleanup_(store_closep) struct store *store = filled_store(now_ns);
	_cleanup_(profile_freep) struct profile *p = profile_of(store, now_ns, &(struct narrow){ 0 });
	const struct profile_sample *sample = &resource_of(p, "bank")->scopes[0].sets[0].samples[0];
	struct indices stack = p->stacks.at[sample->stack];
	const struct profile_location *leaf;

	EQ(stack.count, 2);
	leaf = &p->locations.at[stack.at[0]];
	EQ(leaf->address, 0x1234);
	EQ(leaf->line_count, 2);
	EQ(leaf->lines[0].line, 42);
	OK(str_equal(p->strings.at[p->functions.at[leaf->lines[0].function].name], names[2]));
	OK(str_equal(p->strings.at[p->functions.at[leaf->lines[1].function].name], names[1]));
	EQ(p->functions.at[leaf->lines[1].function].start_line, 11);
	EQ(p->locations.at[stack.at[1]].line_count, 1);
}

TEST(profile_of_a_selection_is_narrowed_like_its_flame_graph)
{
	u64 now_ns = clock_ns(CLOCK_REALTIME);
	_cleanup_(store_closep) struct store *store = filled_store(now_ns);
	struct narrow hide = { 0 }, without = { 0 };
	struct profile *p;
	u32 stack;
	struct buf why;

	buf_init(&why, 512);
	EQ(narrow_add(&hide, NARROW_HIDE, "spin", &why), 0);
	p = profile_of(store, now_ns, &hide);
	stack = resource_of(p, "shop")->scopes[0].sets[0].samples[0].stack;
	EQ(p->locations.at[p->stacks.at[stack].at[0]].line_count, 1);
	EQ(profile_samples(p), 2);
	profile_free(p);
	EQ(narrow_add(&without, NARROW_IGNORE, "spin", &why), 0);
	p = profile_of(store, now_ns, &without);
	EQ(p->resources.count, 0);
	profile_free(p);
	buf_done(&why);
}

/* Half a minute before the end of ten minutes and half a minute after it, rolled up. */
#define BORDER_NS (1800000600ull * SECOND_NS)

static struct store *store_over_a_border(void)
{
	struct store *store = scratch_store();
	struct profile *p = profile_new();

	add_process(p, "shop", 12, BORDER_NS - 30 * SECOND_NS, 3);
	add_process(p, "shop", 12, BORDER_NS - 90 * SECOND_NS, 1);
	add_process(p, "shop", 12, BORDER_NS + 30 * SECOND_NS, 2);
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, BORDER_NS + 60 * SECOND_NS), 0);
	profile_free(p);
	while (store_maintain(store, BORDER_NS + 200 * SECOND_NS) > 0)
		;
	return store;
}

static struct profile *all_of(struct store *store)
{
	struct store_selection all = { .from_ns = 0, .to_ns = BORDER_NS + 600 * SECOND_NS };
	struct profile *p = NULL;
	struct buf why;

	buf_init(&why, 512);
	EQ(store_profile(store, &all, &(struct narrow){ 0 }, &p, &why), 0);
	EQ(profile_check(p), 0);
	buf_done(&why);
	return p;
}

TEST(profile_of_a_young_store_has_all_times_though_it_is_rolled_up)
{
	_cleanup_(store_closep) struct store *store = store_over_a_border();
	_cleanup_(profile_freep) struct profile *p = all_of(store);
	const struct profile_resource *shop = resource_of(p, "shop");

	EQ(shop->scopes[0].set_count, 1);
	EQ(shop->scopes[0].sets[0].sample_count, 1);
	EQ(shop->scopes[0].sets[0].samples[0].time_count, 6);
}

TEST(profile_has_what_only_roll_ups_have_left_apart_from_what_has_times)
{
	_cleanup_(store_closep) struct store *store = store_over_a_border();
	_cleanup_(profile_freep) struct profile *p = NULL;
	const struct profile_scope *scope;

	EQ(db_drop_blocks(sqlite_store(store)->db, 0, BORDER_NS, 100), 2);
	p = all_of(store);
	scope = &resource_of(p, "shop")->scopes[0];
	EQ(scope->set_count, 2);
	EQ(scope->sets[0].sample_count, 1);
	EQ(scope->sets[0].samples[0].time_count, 0);
	EQ(scope->sets[0].samples[0].value_count, 1);
	EQ(profile_sample_value(&scope->sets[0].samples[0]), 4);
	EQ(scope->sets[1].sample_count, 1);
	EQ(scope->sets[1].samples[0].time_count, 2);
}
