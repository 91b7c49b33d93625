// SPDX-License-Identifier: Apache-2.0
#include "store/lanes.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "store/scratch_test.h"
#include "test.h"

#define NOW_NS (1800000000 * SECOND_NS)
#define START_NS (NOW_NS - 60 * SECOND_NS)
#define MS (SECOND_NS / 1000)

struct part {
	u32 tid;
	const char *reason;
	u64 at_ms, length_ms;
};

static void add_parts(struct store *store, const char *type, const struct part *parts, u32 count)
{
	struct keyvalue host = { STR("host.name"), { .kind = ANY_STRING, .string = STR("alpha") } };
	struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &host, 1)));

	set->sample_type = (struct profile_type){ profile_add_cstring(p, type), profile_add_cstring(p, "nanoseconds") };
	for (u32 i = 0; i < count; i++) {
		u32 attributes[] = { profile_add_attribute_int(p, "thread.id", parts[i].tid),
				     profile_add_attribute_string(p, "wait.reason", parts[i].reason) };
		struct profile_sample *sample = profile_add_sample(p, set);
		u64 time_ns = START_NS + parts[i].at_ms * MS;
		s64 value = (s64)(parts[i].length_ms * MS);

		sample->attributes = profile_copy_indices(p, attributes, *parts[i].reason ? 2 : 1);
		sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
		sample->values = profile_copy(p, &value, sizeof(value));
		sample->time_count = sample->value_count = 1;
	}
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, NOW_NS), 0);
	profile_free(p);
}

static const struct part parts[] = {
	{ 1, "", 200, 200 }, { 1, "futex", 900, 700 }, { 1, "run_queue", 1000, 100 },
	{ 2, "sleep", 4000, 4000 }, { 3, "", 1000, 500 },
};

static struct store_lanes lanes_of(struct store *store, u32 lanes_max)
{
	struct store_selection second = { .from_ns = START_NS, .to_ns = START_NS + SECOND_NS };
	struct store_lanes_options options = { .types = { "wall" }, .buckets = 10, .lanes_max = lanes_max };
	struct store_lanes lanes;

	EQ(store_lanes(store, &second, &options, &lanes), 0);
	return lanes;
}

TEST(lanes_of_a_store_have_who_wanted_to_run_first)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_lanes lanes;

	add_parts(store, "wall", parts, 5);
	add_parts(store, "off_cpu", parts, 5);
	lanes = lanes_of(store, 10);
	EQ(lanes.count, 3);
	EQ(lanes.threads, 3);
	EQ(lanes.at[0].tid, 3);
	EQ((u64)lanes.at[0].total, 500 * MS);
	EQ(lanes.at[1].tid, 1);
	EQ((u64)lanes.at[1].sums[REASON_FUTEX], 700 * MS);
	EQ((u64)lanes.at[1].cells[9 * REASON_COUNT + REASON_RUN_QUEUE], 100 * MS);
	EQ((u64)lanes.at[1].cells[8 * REASON_COUNT + REASON_FUTEX], 100 * MS);
	EQ((u64)lanes.at[1].cells[0 * REASON_COUNT + REASON_NONE], 100 * MS);
	EQ(lanes.at[1].last_ns, 0);
	EQ(lanes.at[2].tid, 2);
	EQ((u64)lanes.at[2].total, SECOND_NS);
	EQ(lanes.at[2].last_ns, START_NS + 4 * SECOND_NS);
	store_lanes_done(&lanes);
	lanes = lanes_of(store, 1);
	EQ(lanes.count, 1);
	EQ(lanes.threads, 3);
	EQ(lanes.at[0].tid, 3);
	store_lanes_done(&lanes);
}

TEST(lanes_of_a_store_are_not_more_than_asked_for_though_all_are_alike)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct part alike[50];
	struct store_lanes lanes;

	for (u32 i = 0; i < 50; i++)
		alike[i] = (struct part){ i + 1, "poll", 1000, 1000 };
	add_parts(store, "wall", alike, 50);
	lanes = lanes_of(store, 7);
	EQ(lanes.count, 7);
	EQ(lanes.threads, 50);
	store_lanes_done(&lanes);
}

TEST(lanes_of_an_empty_store_are_none)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_lanes lanes = lanes_of(store, 7);

	EQ(lanes.count, 0);
	EQ(lanes.threads, 0);
	store_lanes_done(&lanes);
}

TEST(lanes_that_know_each_switch_tell_how_long_threads_wanted_a_cpu)
{
	static const struct part switches[] = {
		{ 1, "run_queue", 100, 3 }, { 1, "", 103, 5 }, { 1, "run_queue", 108, 200 },
		{ 2, "run_queue", 950, 400 }, { 3, "futex", 0, 900 }, { 1, "run_queue", 1100, 50 },
	};
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection second = { .from_ns = START_NS, .to_ns = START_NS + SECOND_NS };
	struct store_lanes_options options = { .types = { "lanes" }, .is_exact = true, .buckets = 10, .lanes_max = 9,
					       .queue_by = STORE_TID };
	struct store_lanes lanes;

	add_parts(store, "lanes", switches, 6);
	EQ(store_lanes(store, &second, &options, &lanes), 0);
	EQ(lanes.queue.all.count, 3);
	EQ(lanes.queue.all.sum_ns, 603 * MS);
	EQ(lanes.queue.cells[1 * QUEUE_ROWS + 12], 1);
	EQ(lanes.queue.cells[1 * QUEUE_ROWS + 18], 1);
	EQ(lanes.queue.cells[9 * QUEUE_ROWS + 19], 1);
	EQ(lanes.queue.group_count, 2);
	STREQ(lanes.queue_names[0], "1");
	EQ(lanes.queue.groups[0].longest_ns, 200 * MS);
	EQ(lanes.queue.groups[1].sum_ns, 400 * MS);
	store_lanes_done(&lanes);
	options.is_exact = false;
	EQ(store_lanes(store, &second, &options, &lanes), 0);
	EQ(lanes.queue.columns, 0);
	store_lanes_done(&lanes);
}
