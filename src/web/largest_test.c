// SPDX-License-Identifier: Apache-2.0
/* The flame of only the largest nodes, against the one of all: written as JSON they are the same, byte by byte. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "profile/any.h"
#include "analysis/calltree.h"
#include "store/sqlite.h"
#include "store/scratch_test.h"
#include "test.h"
#include "web/flame_json.h"

#define NOW_NS (1800000000 * SECOND_NS)
#define ID "0123456789abcdef0123456789abcdef01234567"
#define DEPTH_MAX 12
#define FUNCTIONS 20

/* What the samples are made of. */
struct mix {
	u32 samples;
	u32 nameless;	/* one of so many frames has no name; 0: none */
	u32 negative;	/* one of so many values is below zero; 0: none */
	u32 depth_max;	/* 0: DEPTH_MAX */
	s64 value;	/* of all of them; 0: they differ */
};

static u64 random_state = 88172645463325252;

static u32 below(u32 limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (u32)((random_state >> 32) * limit >> 32);
}

static u32 add_location(struct profile *p, const struct mix *mix)
{
	u32 id = profile_add_attribute_string(p, "process.executable.build_id.gnu", ID);
	u32 type = profile_add_attribute_string(p, "profile.frame.type", "native");
	struct profile_mapping mapping = { .filename = profile_add_cstring(p, "/bin/prog"), .attributes = { &id, 1 } };
	u32 function = below(FUNCTIONS), has_name = !mix->nameless || below(mix->nameless);
	struct profile_line line = { 0 };
	char name[16];

	snprintf(name, sizeof(name), "f%u", function);
	if (has_name)
		line.function =
			profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, name) });
	return profile_add_location(p, &(struct profile_location){
		.mapping = profile_add_mapping(p, &mapping), .address = 0x1000 + 0x100 * function + below(4),
		.lines = &line, .line_count = has_name, .attributes = { &type, 1 } });
}

static void add_sample(struct profile *p, struct profile_set *set, const struct mix *mix)
{
	struct profile_sample *sample = profile_add_sample(p, set);
	u32 locations[DEPTH_MAX], depth = 1 + below(mix->depth_max ? mix->depth_max : DEPTH_MAX);
	s64 value = below(4) ? below(3) : below(1000000);
	u64 now = NOW_NS;

	for (u32 i = 0; i < depth; i++)
		locations[i] = add_location(p, mix);
	if (mix->value)
		value = mix->value;
	if (mix->negative && !below(mix->negative))
		value = -value;
	sample->stack = profile_add_stack(p, locations, depth);
	sample->values = profile_copy(p, &value, sizeof(value));
	sample->value_count = 1;
	sample->times_unix_ns = profile_copy(p, &now, sizeof(now));
	sample->time_count = 1;
}

static void add_samples(struct store *store, const struct mix *mix)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));

	for (u32 i = 0; i < mix->samples; i++)
		add_sample(p, set, mix);
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, NOW_NS), 0);
}

static void write_json(struct calltree *flame, u32 nodes_max, struct buf *out)
{
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(flame_json(flame, 0, nodes_max, out), 0);
}

/* How many nodes were there to be written, of how many in all. */
struct sizes {
	u32 largest, all;
};

static struct sizes expect_same(struct store *store, u32 nodes_max)
{
	struct store_selection selection = { .from_ns = NOW_NS - SECOND_NS, .to_ns = NOW_NS + SECOND_NS };
	_cleanup_(calltree_freep) struct calltree *all = NULL, *largest = NULL;
	_cleanup_(buf_done) struct buf want, have;

	buf_init(&want, 16 << 20);
	buf_init(&have, 16 << 20);
	EQ(store_flame(store, &selection, STORE_LABEL_COUNT, &all), 0);
	EQ(store_flame_largest(store, &selection, nodes_max, &largest), 0);
	write_json(all, nodes_max, &want);
	write_json(largest, nodes_max, &have);
	EQ(have.len, want.len);
	OK(!memcmp(have.data, want.data, want.len));
	return (struct sizes){ largest->nodes.count, all->nodes.count };
}

static void expect_same_at_any_size(struct store *store, bool is_pruned)
{
	static const u32 sizes[] = { 1, 2, 3, 10, 100, 500, 1000, 2000, 5000, 100000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct sizes found = expect_same(store, sizes[i]);

		if (is_pruned)
			OK(found.largest <= sizes[i] || found.all <= sizes[i]);
		else
			EQ(found.largest, found.all);
	}
}

TEST(largest_of_nothing_and_of_little)
{
	_cleanup_(store_closep) struct store *store = scratch_store();

	expect_same_at_any_size(store, true);
	add_samples(store, &(struct mix){ .samples = 1 });
	expect_same_at_any_size(store, true);
}

TEST(largest_nodes_are_those_of_the_whole)
{
	_cleanup_(store_closep) struct store *store = scratch_store();

	for (u32 i = 0; i < 4; i++) {
		add_samples(store, &(struct mix){ .samples = 100u << i });
		expect_same_at_any_size(store, true);
	}
}

/* Frames without a name are left out like others, until two of them turn out to be one function. */
TEST(largest_nodes_have_late_names)
{
	static const struct store_name found[] = {
		{ 0x1101, 0x1100, "f1", "", NAME_UPLOADED },
		{ 0x1102, 0x1100, "f1", "", NAME_UPLOADED },
		{ 0x1203, 0x1200, "f2", "f2.c", NAME_UPLOADED },
	};
	_cleanup_(store_closep) struct store *store = scratch_store();

	add_samples(store, &(struct mix){ .samples = 1000, .nameless = 3 });
	expect_same_at_any_size(store, true);
	OK(store_put_names(store, ID, found, 3) > 0);
	expect_same_at_any_size(store, false);
}

TEST(largest_nodes_with_negative_values)
{
	_cleanup_(store_closep) struct store *store = scratch_store();

	add_samples(store, &(struct mix){ .samples = 1000 });
	expect_same_at_any_size(store, true);
	/* Below the root, where what is further down makes up for it. */
	add_samples(store, &(struct mix){ .samples = 20, .negative = 1, .depth_max = 1 });
	expect_same_at_any_size(store, false);
	add_samples(store, &(struct mix){ .samples = 1000, .negative = 10 });
	expect_same_at_any_size(store, false);
}

TEST(largest_nodes_with_more_than_can_be_counted)
{
	_cleanup_(store_closep) struct store *store = scratch_store();

	add_samples(store, &(struct mix){ .samples = 100 });
	add_samples(store, &(struct mix){ .samples = 10, .value = INT64_MAX / 3 });
	expect_same_at_any_size(store, false);
}

TEST(largest_nodes_of_two_epochs)
{
	_cleanup_(store_closep) struct store *store = scratch_store();

	add_samples(store, &(struct mix){ .samples = 500 });
	/* What makes a dictionary full. */
	sqlite_store(store)->epochs[0].dict->err = -E2BIG;
	add_samples(store, &(struct mix){ .samples = 500 });
	EQ(sqlite_store(store)->epoch_count, 2);
	expect_same_at_any_size(store, false);
}
