// SPDX-License-Identifier: Apache-2.0
#include "wire/views/firefox.h"

#include "profile/any.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/events.h"

#define BYTES_MAX ((size_t)1 << 20)

static u32 add_stack(struct profile *p, const char *const *names, u32 count)
{
	u32 stack[4];

	for (u32 i = 0; i < count; i++) {
		struct profile_line line = { .line = 7, .function = profile_add_function(p, &(struct profile_function){
			.name = profile_add_cstring(p, names[i]), .filename = profile_add_cstring(p, "a.c"),
			.start_line = 5 }) };

		stack[i] = profile_add_location(p, &(struct profile_location){
			.line_count = 1, .lines = &line, .address = 0x10 + i });
	}
	return profile_add_stack(p, stack, count);
}

static void add_sample(struct profile *p, struct profile_set *set, u32 stack, const u64 *times, u32 count, s64 tid)
{
	struct profile_sample *s = profile_add_sample(p, set);
	u32 thread = profile_add_attribute_int(p, "thread.id", tid);

	s->stack = stack;
	s->times_unix_ns = profile_copy(p, times, count * sizeof(*times));
	s->time_count = count;
	s->attributes = profile_copy_indices(p, &thread, 1);
}

/* Two threads of a process, whose samples come in no order. */
static struct profile *make(void)
{
	struct keyvalue kv[] = { { STR("process.pid"), { .kind = ANY_INT, .integer = 100 } },
				 { STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("sh") } } };
	struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, kv, 2)));
	u32 deep = add_stack(p, (const char *const[]){ "leaf", "main" }, 2);
	u32 flat = add_stack(p, (const char *const[]){ "main" }, 1);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, "samples"), profile_add_cstring(p, "count") };
	set->time_unix_ns = 1000000;
	add_sample(p, set, deep, (u64[]){ 5000000, 2000000 }, 2, 100);
	add_sample(p, set, flat, (u64[]){ 3000000 }, 1, 100);
	add_sample(p, set, 0, (u64[]){ 4500000 }, 1, 101);
	return p;
}

TEST(events_are_in_order_of_time_by_thread)
{
	static const u64 times[] = { 0, 1000000, 3000000, 2500000 };
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(events_done) struct event_list events;

	EQ(events_init(&events, p, "samples"), 0);
	EQ(events.start_unix_ns, 2000000);
	EQ(events.thread_count, 2);
	EQ(events.threads[1].tid, 101);
	EQ(events.threads[1].first, 3);
	EQ(events.count, 4);
	for (u32 i = 0; i < 4; i++) {
		EQ(events.at[i].time_ns, times[i]);
		EQ(events.at[i].value, 1);
	}
}

TEST(events_keep_what_samples_weigh)
{
	static const struct {
		u32 values, times;
		s64 expected[2];
	} shapes[] = { { 1, 0, { 2 } }, { 0, 2, { 1, 1 } }, { 2, 2, { 2, 7 } }, { 1, 2, { 1, 1 } } };
	static const s64 values[] = { 2, 7 };
	static const u64 times[] = { 10, 20 };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		_cleanup_(profile_freep) struct profile *p = profile_new();
		_cleanup_(events_done) struct event_list events;
		struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));
		struct profile_sample *s = profile_add_sample(p, set);

		s->values = values;
		s->value_count = shapes[i].values;
		s->times_unix_ns = times;
		s->time_count = shapes[i].times;
		EQ(events_init(&events, p, ""), 0);
		EQ(events.count, shapes[i].times ? 2 : 1);
		for (u32 k = 0; k < events.count; k++)
			EQ(events.at[k].value, shapes[i].expected[k]);
	}
}

TEST(firefox_has_threads_that_share_their_tables)
{
	static const char *const parts[] = {
		"\"preprocessedProfileVersion\":60",
		"\"startTime\":2.000000",
		"\"stackTable\":{\"length\":3,\"frame\":[2,1,3],\"prefix\":[null,0,null]}",
		"\"func\":[0,1,2,2]",
		"\"line\":[null,7,7,7]",
		"\"funcTable\":{\"length\":3,\"name\":[0,1,2]",
		"\"source\":[null,0,0]",
		"\"lineNumber\":[null,5,5]",
		"\"stringArray\":[\"[unknown]\",\"leaf\",\"main\",\"a.c\"]",
		"\"processName\":\"sh\"",
		"\"pid\":\"100\",\"tid\":\"100\",\"samples\":{\"length\":3,\"weightType\":\"samples\","
		"\"stack\":[1,2,1],\"time\":[0.000000,1.000000,3.000000],\"weight\":[1,1,1]}",
		"\"pid\":\"100\",\"tid\":\"101\",\"samples\":{\"length\":1,\"weightType\":\"samples\","
		"\"stack\":[null],",
	};
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(buf_done) struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(firefox_encode(p, &b), 0);
	buf_add(&b, "", 1);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strstr(b.data, parts[i]))
			FAIL("%s is not in %s", parts[i], b.data);
}
