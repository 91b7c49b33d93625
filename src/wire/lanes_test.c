// SPDX-License-Identifier: Apache-2.0
#include "wire/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/pb.h"
#include "wire/sample_types.h"
#include "wire/views/firefox.h"
#include "wire/views/perfetto.h"

#define BYTES_MAX ((size_t)1 << 20)
#define MS 1000000ull

static void add(struct profile *p, struct profile_set *set, s64 tid, const char *reason, u64 start_ms, s64 ms)
{
	struct profile_sample *s = profile_add_sample(p, set);
	u64 start_ns = start_ms * MS;
	s64 value = ms * (s64)MS;
	u32 attributes[3] = { profile_add_attribute_int(p, "thread.id", tid),
			      profile_add_attribute_string(p, "thread.name", "t") };

	if (*reason)
		attributes[2] = profile_add_attribute_string(p, "wait.reason", reason);
	s->times_unix_ns = profile_copy(p, &start_ns, sizeof(start_ns));
	s->time_count = 1;
	s->values = profile_copy(p, &value, sizeof(value));
	s->value_count = 1;
	s->attributes = profile_copy_indices(p, attributes, *reason ? 3 : 2);
}

static struct profile_set *add_set(struct profile *p, struct profile_scope *scope, const char *type)
{
	struct profile_set *set = profile_add_set(p, scope);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, type),
						  profile_add_cstring(p, "nanoseconds") };
	set->time_unix_ns = 1000 * MS;
	return set;
}

static struct profile_scope *add_scope(struct profile *p)
{
	struct keyvalue kv[] = { { STR("process.pid"), { .kind = ANY_INT, .integer = 100 } },
				 { STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("sh") } } };

	return profile_add_scope(p, profile_add_resource(p, kv, 2));
}

/* Thread 101 sleeps, runs and waits for a CPU; 102 has a lane only. */
static struct profile *make(void)
{
	struct profile *p = profile_new();
	struct profile_scope *scope = add_scope(p);
	struct profile_set *set = add_set(p, scope, "lanes");

	add(p, set, 101, "", 1150, 50);
	add(p, set, 101, "sleep", 1100, 50);	/* a window ended at 1100 */
	add(p, set, 101, "sleep", 1000, 100);
	add(p, set, 101, "run_queue", 1200, 10);
	add(p, set, 102, "futex", 1005, 100);
	set = add_set(p, scope, "wall");
	add(p, set, 101, "", 1002, 1);
	set->samples[0].values = profile_copy(p, &(s64){ 3 }, sizeof(s64));
	return p;
}

TEST(lanes_are_in_order_and_in_one_piece)
{
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(lanes_done) struct lanes lanes;
	const struct lane_part *parts;

	EQ(lanes_init(&lanes, p), 0);
	EQ(lanes.count, 2);
	EQ(lanes.at[0].tid, 101);
	EQ(lanes.at[0].count, 3);
	EQ(lanes.start_ns, 1000 * MS);
	parts = lanes.parts + lanes.at[0].first;
	EQ(parts[0].start_ns, 1000 * MS);
	EQ(parts[0].end_ns, 1150 * MS);
	STREQ(lane_part_name(&parts[0]), "sleep");
	STREQ(lane_part_name(&parts[1]), "running");
	EQ(parts[1].end_ns, 1200 * MS);
	STREQ(lane_part_name(&parts[2]), "run_queue");
	EQ(lanes.at[1].count, 1);
	STREQ(lane_part_name(lanes.parts + lanes.at[1].first), "futex");
}

TEST(lanes_have_no_time_twice)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_set *set = add_set(p, add_scope(p), "lanes");
	_cleanup_(lanes_done) struct lanes lanes;
	u64 sum = 0;

	add(p, set, 101, "", 1000, 50);
	add(p, set, 101, "sleep", 1020, 10);	/* within it */
	add(p, set, 101, "futex", 1040, 30);
	add(p, set, 101, "disk", 1100, 5);	/* after a gap */
	EQ(lanes_init(&lanes, p), 0);
	EQ(lanes.count, 1);
	EQ(lanes.at[0].count, 3);
	for (u32 i = 0; i < lanes.at[0].count; i++) {
		OK(!i || lanes.parts[i].start_ns >= lanes.parts[i - 1].end_ns);
		sum += lanes.parts[i].end_ns - lanes.parts[i].start_ns;
	}
	EQ(sum, 75 * MS);
}

TEST(lanes_stand_times_from_a_stranger)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_set *set = add_set(p, add_scope(p), "lanes");
	_cleanup_(lanes_done) struct lanes lanes;

	add(p, set, 101, "boredom", 1000, -50);
	add(p, set, 101, "boredom", UINT64_MAX / MS, INT64_MAX / (s64)MS);
	add(p, set, 101, "boredom", 1000, 1);
	EQ(lanes_init(&lanes, p), 0);
	EQ(lanes.at[0].count, 1);
	STREQ(lane_part_name(lanes.parts), "other");
}

TEST(a_lane_is_taken_once_by_its_thread)
{
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(lanes_done) struct lanes lanes;
	struct events_thread thread = { .name = STR("t"), .pid = 100, .tid = 102 };

	EQ(lanes_init(&lanes, p), 0);
	OK(lanes_take(&lanes, &thread) == &lanes.at[1]);
	OK(!lanes_take(&lanes, &thread));
	thread.tid = 103;
	OK(!lanes_take(&lanes, &thread));
}

TEST(what_is_shown_beside_lanes_is_not_lanes)
{
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(sample_types_done) struct sample_types types;

	EQ(sample_types_init(&types, p), 0);
	EQ(types.count, 2);
	STREQ(lanes_other_type(&types), "wall");
}

/* Both threads, of which one has no samples, with times since the first of all. */
TEST(firefox_has_lanes_as_markers)
{
	static const char *const pieces[] = {
		"\"name\":\"ThreadLane\"", "\"isStackBased\":true", "\"startTime\":1000.000000",
		"\"startTime\":[0.000000,150.000000,200.000000],\"endTime\":[150.000000,200.000000,210.000000],"
		"\"phase\":[1,1,1]",
		"\"startTime\":[5.000000],\"endTime\":[105.000000],\"phase\":[1]", "\"time\":[2.000000]",
		"\"color\":\"green\"",
	};
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(buf_done) struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(firefox_encode(p, &b), 0);
	buf_add(&b, "", 1);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		if (!strstr(b.data, pieces[i]))
			STREQ(b.data, pieces[i]);
}

/* What each slice says, in the order of the file: type, track, name's number, time in ms. */
static u32 look(const struct buf *b, u64 slices[16][4])
{
	struct pb trace = pb_from(b->data, b->len);
	struct pb_field f, g, h;
	u32 count = 0;

	while (pb_next(&trace, &f)) {
		struct pb packet = f.body;
		u64 time = 0;

		while (pb_next(&packet, &g)) {
			struct pb event = g.body;

			if (g.number == 8)
				time = g.value / MS;
			if (g.number != 11)
				continue;
			OK(count < 16);
			slices[count][3] = time;
			while (pb_next(&event, &h))
				slices[count][h.number == 9 ? 0 : h.number == 11 ? 1 : 2] = h.value;
			count++;
		}
	}
	EQ(trace.err, 0);
	return count;
}

TEST(perfetto_has_lanes_as_slices)
{
	static const u64 want[][4] = {
		{ 1, 1, REASON_SLEEP + 1, 1000 }, { 2, 1, 0, 1150 }, { 1, 1, REASON_NONE + 1, 1150 }, { 2, 1, 0, 1200 },
		{ 1, 1, REASON_RUN_QUEUE + 1, 1200 }, { 2, 1, 0, 1210 }, { 1, 2, REASON_FUTEX + 1, 1005 },
		{ 2, 2, 0, 1105 },
	};
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(buf_done) struct buf b;
	u64 slices[16][4] = { 0 };

	buf_init(&b, BYTES_MAX);
	EQ(perfetto_encode(p, &b), 0);
	EQ(look(&b, slices), 8);
	EQ(memcmp(slices, want, sizeof(want)), 0);
}
