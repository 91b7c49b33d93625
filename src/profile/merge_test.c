// SPDX-License-Identifier: Apache-2.0
#include "profile/merge.h"

#include <errno.h>

#include "profile/dump_test.h"
#include "profile/profile.h"
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
	struct profile *p = merger_finish(m);

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

	EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
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

	EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
	add(m, window(7, "hot", 100, early, 2));
	add(m, window(8, "hot", 100, early, 2));
	p = finish(m);
	EQ(p->resources.count, 2);
	EQ(p->stacks.count, 2); /* the empty one and theirs */
	EQ(p->resources.at[1].scopes[0].sets[0].sample_count, 1);
	profile_free(p);
}

/* Makes the one sample of a window one that has values, and times only if they are kept. */
static struct profile *with_values(struct profile *p, const s64 *values, u32 count, bool keep_times)
{
	struct profile_sample *sample = &p->resources.at[0].scopes[0].sets[0].samples[0];

	sample->value_count = count;
	sample->values = profile_copy(p, values, count * sizeof(*values));
	sample->time_count = keep_times ? sample->time_count : 0;
	return p;
}

static const s64 pair[] = { 5, 7 };

static const struct profile_set *only_set(const struct profile *p)
{
	EQ(p->resources.count, 1);
	EQ(p->resources.at[0].scope_count, 1);
	EQ(p->resources.at[0].scopes[0].set_count, 1);
	return &p->resources.at[0].scopes[0].sets[0];
}

/* Times, values, pairs, and one value for two times, of the same stack; each twice. */
static struct profile *merge_shapes(u32 times_max, bool *ret_dropped)
{
	struct merger *m;

	EQ(merger_new(times_max, &m), 0);
	for (int i = 0; i < 2; i++) {
		add(m, window(7, "hot", 100, early, 2));
		add(m, with_values(window(7, "hot", 200, late, 1), pair, 1, false));
		add(m, with_values(window(7, "hot", 100, early, 2), pair, 2, true));
		add(m, with_values(window(7, "hot", 100, early, 2), pair, 1, true));
		add(m, with_values(window(7, "hot", 100, early, 2), pair, 0, false));
	}
	*ret_dropped = merger_times_dropped(m);
	return finish(m);
}

TEST(merge_keeps_every_value_and_time_of_samples_of_many_shapes)
{
	bool dropped;
	_cleanup_(profile_freep) struct profile *p = merge_shapes(MERGE_TIMES_MAX, &dropped);
	const struct profile_sample *s = only_set(p)->samples;

	OK(!dropped);
	EQ(only_set(p)->sample_count, 5);
	EQ(s[0].time_count, 4);
	EQ(s[0].value_count, 0);
	EQ(s[1].time_count, 0);
	EQ(s[1].value_count, 1);
	EQ(s[1].values[0], 10);
	EQ(s[2].time_count, 4);
	EQ(s[2].value_count, 4);
	EQ(s[2].values[3], 7);
	EQ(s[2].times_unix_ns[3], 120);
	EQ(s[3].time_count, 4);
	EQ(s[3].value_count, 1);
	EQ(s[3].values[0], 10);
	EQ(s[4].time_count + s[4].value_count, 0);
}

TEST(merge_keeps_sums_when_there_are_too_many_times)
{
	/* The 12 times of all come in six pairs: whichever is the first too many, sums are the same. */
	for (u32 times_max = 0; times_max < 12; times_max++) {
		bool dropped;
		_cleanup_(profile_freep) struct profile *p = merge_shapes(times_max, &dropped);
		const struct profile_sample *s = only_set(p)->samples;
		static const s64 sums[] = { 4, 10, 24, 10 };

		OK(dropped);
		EQ(only_set(p)->sample_count, 5);
		for (u32 i = 0; i < 4; i++) {
			EQ(s[i].time_count, 0);
			EQ(s[i].value_count, 1);
			EQ(s[i].values[0], sums[i]);
		}
		EQ(s[4].time_count + s[4].value_count, 0);
	}
}

TEST(merge_joins_a_thousand_windows_without_growing)
{
	struct profile *p;
	struct merger *m;

	EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
	for (u64 i = 0; i < 1000; i++)
		add(m, window(7, "hot", 100 + i, &(u64){ 100 + i }, 1));
	p = finish(m);
	EQ(only_set(p)->sample_count, 1);
	EQ(only_set(p)->samples[0].time_count, 1000);
	for (u64 i = 0; i < 1000; i++)
		EQ(only_set(p)->samples[0].times_unix_ns[i], 100 + i);
	EQ(only_set(p)->time_unix_ns, 100);
	EQ(only_set(p)->duration_ns, 1099);
	EQ(p->locations.count, 2);
	/* Each time was copied a few times at most. */
	OK(profile_bytes(p) < (128u << 10));
	profile_free(p);
}

TEST(merge_spans_what_is_known_of_the_time)
{
	/* Start and duration of two; of both. */
	static const u64 cases[][6] = {
		{ 100, 50, 200, 10, 100, 110 }, { 200, 10, 100, 50, 100, 110 }, { 100, 500, 200, 10, 100, 500 },
		{ 0, 0, 200, 10, 200, 10 },	{ 200, 10, 0, 5, 200, 10 },	{ 0, 7, 0, 5, 0, 7 },
		{ 1000, -1ull, 200, 10, 200, -201ull },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p;
		struct merger *m;

		EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
		for (int part = 0; part < 2; part++) {
			p = window(7, "hot", cases[i][part * 2], late, 1);
			p->resources.at[0].scopes[0].sets[0].duration_ns = cases[i][part * 2 + 1];
			add(m, p);
		}
		p = finish(m);
		EQ(only_set(p)->time_unix_ns, cases[i][4]);
		EQ(only_set(p)->duration_ns, cases[i][5]);
		profile_free(p);
	}
}

/* 100 attributes, of which only the last differs; forwards or backwards. */
static struct profile *with_attributes(s64 last, bool backwards)
{
	struct profile *p = window(7, "hot", 100, late, 1);
	u32 list[100];

	for (u32 i = 0; i < 100; i++)
		list[backwards ? 99 - i : i] = profile_add_attribute_int(p, "key", i < 99 ? i : last);
	p->resources.at[0].scopes[0].sets[0].samples[0].attributes = profile_copy_indices(p, list, 100);
	p->resources.at[0].scopes[0].sets[0].attributes = profile_copy_indices(p, &list[backwards ? 1 : 98], 1);
	return p;
}

TEST(merge_compares_all_attributes_in_any_order)
{
	struct profile *p;
	struct merger *m;

	EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
	add(m, with_attributes(1000, false));
	add(m, with_attributes(2000, true));
	add(m, with_attributes(1000, true));
	p = finish(m);
	EQ(only_set(p)->attributes.count, 1);
	EQ(p->attributes.at[only_set(p)->attributes.at[0]].value.integer, 98);
	EQ(only_set(p)->sample_count, 2);
	EQ(only_set(p)->samples[0].time_count, 2);
	EQ(only_set(p)->samples[1].time_count, 1);
	profile_free(p);
}

TEST(merge_keeps_sets_of_other_periods_and_attributes_apart)
{
	struct profile *p;
	struct merger *m;
	u32 attribute;

	EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
	add(m, window(7, "hot", 100, late, 1));
	p = window(7, "hot", 100, late, 1);
	p->resources.at[0].scopes[0].sets[0].period = 1;
	add(m, p);
	p = window(7, "hot", 100, late, 1);
	attribute = profile_add_attribute_int(p, "x", 1);
	p->resources.at[0].scopes[0].sets[0].attributes = profile_copy_indices(p, &attribute, 1);
	add(m, p);
	p = finish(m);
	EQ(p->resources.count, 1);
	EQ(p->resources.at[0].scopes[0].set_count, 3);
	profile_free(p);
}

/* Their sums must not saturate. */
static struct profile *random_profile(unsigned int seed)
{
	struct profile *p = profile_random(seed, 0);

	for (u32 i = 0; i < p->resources.count; i++)
		for (u32 s = 0; s < p->resources.at[i].scope_count; s++)
			for (u32 k = 0; k < p->resources.at[i].scopes[s].set_count; k++) {
				struct profile_set *set = &p->resources.at[i].scopes[s].sets[k];

				for (u32 n = 0; n < set->sample_count; n++)
					for (u32 v = 0; v < set->samples[n].value_count; v++)
						((s64 *)set->samples[n].values)[v] >>= 12;
			}
	return p;
}

TEST(merge_neither_loses_nor_makes_up_anything)
{
	for (unsigned int seed = 0; seed < 4; seed += 2) {
		struct profile *a = random_profile(seed), *b = random_profile(seed + 1);
		const struct profile *const parts[] = { a, b, a };
		char *want = profile_totals(parts, 3);

		/* In whichever order they come. */
		for (int first = 0; first < 3; first++) {
			const struct profile *merged;
			struct merger *m;
			char *got;

			EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
			for (int i = 0; i < 3; i++)
				EQ(merger_add(m, parts[(first + i) % 3]), 0);
			merged = finish(m);
			got = profile_totals(&merged, 1);
			STREQ(got, want);
			free(got);
			profile_free((struct profile *)merged);
		}
		free(want);
		profile_free(a);
		profile_free(b);
	}
}

/* Once merged, a profile is in normal form: doing it again, or adding nothing, changes nothing. */
TEST(merge_of_one_is_a_copy)
{
	for (unsigned int seed = 0; seed < 4; seed++) {
		struct profile *p = random_profile(seed), *empty = profile_new();
		char *texts[2];

		for (int i = 0; i < 2; i++) {
			struct merger *m;

			EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
			EQ(merger_add(m, empty), 0);
			add(m, p);
			EQ(merger_add(m, empty), 0);
			p = finish(m);
			texts[i] = profile_dump(p);
		}
		STREQ(texts[1], texts[0]);
		free(texts[0]);
		free(texts[1]);
		profile_free(p);
		profile_free(empty);
	}
}

TEST(merge_of_nothing_is_an_empty_profile)
{
	struct profile *p;
	struct merger *m;

	EQ(merger_new(MERGE_TIMES_MAX, &m), 0);
	p = finish(m);
	EQ(p->resources.count, 0);
	profile_free(p);
}

/* What was merged before memory ran out is still a profile. */
TEST(merge_survives_lack_of_memory)
{
	struct profile *a = profile_random(1, 0), *b = window(7, "hot", 100, early, 2);
	struct profile *c = with_values(window(7, "hot", 100, early, 2), pair, 2, true);

	for (long i = 0;; i++) {
		struct merger *m = NULL;
		int r;

		test_alloc_fail(i);
		r = merger_new(3, &m);
		for (int part = 0; r == 0 && part < 4; part++)
			r = merger_add(m, part == 2 ? a : part == 3 ? c : b);
		test_alloc_reset();
		if (m)
			profile_free(finish(m));
		if (r == 0)
			break;
		EQ(r, -ENOMEM);
	}
	profile_free(a);
	profile_free(b);
	profile_free(c);
}
