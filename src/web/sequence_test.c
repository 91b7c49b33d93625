// SPDX-License-Identifier: Apache-2.0
#include "web/sequence.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "test.h"

#define FROM_NS (1000 * SECOND_NS)
#define PERIOD_NS 10000000

static struct profile *profile;
static struct profile_set *set;
static char text[65536];

static u32 location(const char *name)
{
	struct profile_line line = { .function = profile_add_function(profile, &(struct profile_function){
					     .name = profile_add_cstring(profile, name) }) };

	return profile_add_location(profile, &(struct profile_location){ .line_count = 1, .lines = &line });
}

static void begin(const char *unit)
{
	struct keyvalue attributes[] = {
		{ STR("host.name"), { .kind = ANY_STRING, .string = STR("box") } },
		{ STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("prog") } },
		{ STR("process.pid"), { .kind = ANY_INT, .integer = 7 } },
	};

	profile = profile_new();
	set = profile_add_set(profile, profile_add_scope(profile, profile_add_resource(profile, attributes, 3)));
	OK(set);
	set->sample_type.unit = profile_add_cstring(profile, unit);
	if (!strcmp(unit, "count")) {
		set->period_type.unit = profile_add_cstring(profile, "nanoseconds");
		set->period = PERIOD_NS;
	}
}

/* main -> leaf on a thread, so many milliseconds after FROM_NS; -1: nobody knows when. */
static void sample(const char *leaf, s64 tid, s64 ms, s64 value)
{
	struct profile_sample *added = profile_add_sample(profile, set);
	u32 stack[] = { location(leaf), location("main") };
	u32 attributes[] = { profile_add_attribute_int(profile, "thread.id", tid),
			     profile_add_attribute_string(profile, "thread.name", tid == 1 ? "first" : "second") };
	u64 time_ns = FROM_NS + (u64)ms * 1000000;

	OK(added);
	added->stack = profile_add_stack(profile, stack, 2);
	added->attributes = profile_copy_indices(profile, attributes, 2);
	added->values = profile_copy(profile, &value, sizeof(value));
	added->value_count = 1;
	if (ms < 0)
		return;
	added->times_unix_ns = profile_copy(profile, &time_ns, sizeof(time_ns));
	added->time_count = 1;
}

/* What is answered of that many seconds from FROM_NS on, of which so many may be shown. */
static const char *answer(u32 seconds, u32 shown, u32 samples_max)
{
	struct sequence_options options = { FROM_NS, FROM_NS + seconds * SECOND_NS, shown * SECOND_NS, samples_max };
	struct buf out;

	buf_init(&out, sizeof(text));
	EQ(profile_err(profile), 0);
	EQ(sequence_json(profile, &options, &out), 0);
	EQ(buf_err(&out), 0);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
	buf_done(&out);
	profile_free(profile);
	return text;
}

static void has(const char *part)
{
	if (!strstr(text, part))
		FAIL("no %s in %s", part, text);
}

TEST(sequence_has_samples_in_the_order_of_time)
{
	begin("count");
	sample("b", 2, 30, 1);
	sample("a", 1, 20, 1);
	sample("b", 1, 40, 2);
	sample("a", 1, 10, 1);
	answer(5, 10, 100);
	has("{\"from\":1000,\"to\":1005,\"samples\":4,\"left_out\":0,\"untimed\":0,\"threads\":[");
	has("{\"host\":\"box\",\"process\":\"prog\",\"pid\":7,\"thread\":\"second\",\"tid\":2,\"samples\":1},"
	    "{\"host\":\"box\",\"process\":\"prog\",\"pid\":7,\"thread\":\"first\",\"tid\":1,\"samples\":3}]");
	has("\"thread\":[1,1,0,1],\"end\":[10000,20000,30000,40000],\"length\":[10000,10000,10000,20000]");
	/* all, main, a, b: as flame_json() has them */
	has("\"node\":[2,2,3,3],\"tree\":{");
	has("\"name\":[\"\",\"main\",\"a\",\"b\"]");
	has("\"nodes\":{\"frame\":[0,0,0,0],\"self\":[0,0,2,2],\"rest\":[0,0,0,0],\"children\":[1,2,0,0]}}}");
}

TEST(sequence_shows_the_end_of_what_is_long)
{
	begin("count");
	sample("a", 1, 1000, 1);
	sample("a", 1, 19000, 1);
	sample("b", 2, 20000, 1);
	answer(60, 2, 100);
	has("{\"from\":1018,\"to\":1020,\"samples\":2,\"left_out\":0,");
	has("\"end\":[1000000,2000000]");
}

TEST(sequence_keeps_the_last_of_too_many)
{
	begin("count");
	for (s64 i = 0; i < 10; i++)
		sample("a", i < 8 ? 1 : 2, 100 * i, 1);
	answer(5, 10, 2);
	has("{\"from\":1000.8,\"to\":1005,\"samples\":10,\"left_out\":8,");
	has("\"threads\":[{\"host\":\"box\",\"process\":\"prog\",\"pid\":7,\"thread\":\"second\",\"tid\":2,"
	    "\"samples\":2}],\"thread\":[0,0],\"end\":[0,100000],");
}

TEST(sequence_counts_what_has_no_time)
{
	begin("count");
	sample("a", 1, -1, 5);
	sample("a", 1, 99000, 1);	/* past its end */
	answer(60, 10, 100);
	has("{\"from\":1000,\"to\":1060,\"samples\":0,\"left_out\":0,\"untimed\":1,\"threads\":[],\"thread\":[],"
	    "\"end\":[],\"length\":[],\"node\":[],\"tree\":{");
}

TEST(sequence_takes_values_that_are_time_for_what_they_are)
{
	begin("nanoseconds");
	sample("wait", 1, 500, 250000000);
	sample("wait", 1, 600, -5);
	answer(5, 10, 100);
	has("\"end\":[500000,600000],\"length\":[250000,0]");
}

TEST(sequence_says_nothing_of_lengths_that_nobody_knows)
{
	begin("bytes");
	sample("alloc", 1, 500, 4096);
	answer(5, 10, 100);
	has("\"length\":[0]");
}
