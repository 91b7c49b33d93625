// SPDX-License-Identifier: Apache-2.0
#include "profile/merge.h"

#include <errno.h>

#include "profile/profile.h"
#include "profile/summary.h"
#include "test.h"

/* A window of one process: a function of that name, seen at these times. */
static struct profile *window(s64 pid, const char *function, u64 start, const u64 *times, u32 count)
{
	struct profile *p = profile_new();
	struct keyvalue attributes[] = { { STR("process.pid"), { .kind = ANY_INT, .integer = pid } } };
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, attributes, 1));
	struct profile_set *set = profile_add_set(p, scope);
	struct profile_function f = { .name = profile_add_cstring(p, function) };
	struct profile_line line = { .function = profile_add_function(p, &f), .line = 3 };
	struct profile_location location = { .lines = &line, .line_count = 1 };
	u32 at = profile_add_location(p, &location), thread = profile_add_attribute_int(p, "thread.id", pid);
	struct profile_sample *sample = profile_add_sample(p, set);

	scope->name = profile_copy_str(p, "wick", 4);
	set->sample_type = (struct profile_type){ profile_add_cstring(p, "samples"), profile_add_cstring(p, "count") };
	set->time_unix_ns = start;
	set->duration_ns = 100;
	sample->stack = profile_add_stack(p, &at, 1);
	sample->attributes = profile_copy_indices(p, &thread, 1);
	sample->times_unix_ns = profile_copy(p, times, count * sizeof(*times));
	sample->time_count = count;
	EQ(profile_err(p), 0);
	return p;
}

static void add(struct merger *m, struct profile *p)
{
	EQ(merger_add(m, p), 0);
	profile_free(p);
}

static struct profile *finish(struct merger *m)
{
	struct profile *p = NULL;

	EQ(merger_finish(m, &p), 0);
	EQ(profile_check(p), 0);
	merger_free(m);
	return p;
}

static const u64 early[] = { 110, 120 }, late[] = { 210 };

TEST(merge_joins_the_windows_of_a_process)
{
	struct profile_set *set;
	struct profile *p;
	struct merger *m;

	EQ(merger_new(&m), 0);
	add(m, window(7, "hot", 100, early, 2));
	add(m, window(7, "hot", 200, late, 1));
	add(m, window(7, "cold", 200, late, 1));
	p = finish(m);
	EQ(p->resources.count, 1);
	EQ(p->resources.at[0].scope_count, 1);
	EQ(p->resources.at[0].scopes[0].set_count, 1);
	set = &p->resources.at[0].scopes[0].sets[0];
	EQ(set->time_unix_ns, 100);
	EQ(set->duration_ns, 200);
	EQ(set->sample_count, 2);
	EQ(set->samples[0].time_count, 3);
	EQ(set->samples[0].value_count, 0);
	EQ(set->samples[0].times_unix_ns[0], 110);
	EQ(set->samples[0].times_unix_ns[2], 210);
	EQ(set->samples[1].time_count, 1);
	profile_free(p);
}

TEST(merge_keeps_processes_apart)
{
	struct profile *p;
	struct merger *m;

	EQ(merger_new(&m), 0);
	add(m, window(7, "hot", 100, early, 2));
	add(m, window(8, "hot", 100, early, 2));
	p = finish(m);
	EQ(p->resources.count, 2);
	EQ(p->stacks.count, 2); /* the empty one and theirs */
	EQ(p->resources.at[1].scopes[0].sets[0].sample_count, 1);
	profile_free(p);
}

TEST(merge_adds_sums_where_there_are_no_times)
{
	struct profile_sample *sample;
	struct profile *p;
	struct merger *m;
	s64 value = 40;

	EQ(merger_new(&m), 0);
	add(m, window(7, "hot", 100, early, 2));
	p = window(7, "hot", 200, late, 1);
	sample = &p->resources.at[0].scopes[0].sets[0].samples[0];
	sample->time_count = 0;
	sample->value_count = 1;
	sample->values = profile_copy(p, &value, sizeof(value));
	add(m, p);
	OK(merger_times_dropped(m));
	p = finish(m);
	sample = &p->resources.at[0].scopes[0].sets[0].samples[0];
	EQ(sample->time_count, 0);
	EQ(sample->values[0], 42);
	profile_free(p);
}

TEST(merge_of_nothing_is_an_empty_profile)
{
	struct profile *p;
	struct merger *m;

	EQ(merger_new(&m), 0);
	p = finish(m);
	EQ(p->resources.count, 0);
	profile_free(p);
}

TEST(merge_survives_lack_of_memory)
{
	struct profile *part = window(7, "hot", 100, early, 2);

	for (long i = 0;; i++) {
		struct merger *m = NULL;
		struct profile *p = NULL;
		int r;

		test_alloc_fail(i);
		r = merger_new(&m);
		if (r == 0)
			r = merger_add(m, part);
		if (r == 0)
			r = merger_finish(m, &p);
		test_alloc_reset();
		merger_free(m);
		profile_free(p);
		if (r == 0)
			break;
		EQ(r, -ENOMEM);
	}
	profile_free(part);
}
