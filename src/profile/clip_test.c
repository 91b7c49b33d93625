// SPDX-License-Identifier: Apache-2.0
#include "profile/clip.h"

#include <errno.h>

#include "profile/dump_test.h"
#include "profile/merge.h"
#include "test.h"

static struct profile_set *add_process(struct profile *p, s64 pid)
{
	const struct keyvalue attribute = { STR("process.pid"), { .kind = ANY_INT, .integer = pid } };
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &attribute, 1)));

	set->time_unix_ns = 90;
	set->duration_ns = 100;
	return set;
}

static void add_sample(struct profile *p, struct profile_set *set, const s64 *values, u32 value_count, const u64 *times,
		       u32 time_count)
{
	struct profile_sample *sample = profile_add_sample(p, set);

	sample->stack = profile_add_stack(p, &(u32){ 0 }, 1);
	sample->link = profile_add_link(p, &(struct profile_link){ .span_id = { (u8)set->sample_count } });
	sample->values = profile_copy(p, values, value_count * sizeof(*values));
	sample->value_count = value_count;
	sample->times_unix_ns = profile_copy(p, times, time_count * sizeof(*times));
	sample->time_count = time_count;
}

static struct profile *clip(const struct profile *from, const struct clip *clip, u32 times_max)
{
	_cleanup_(merger_freep) struct merger *merger = NULL;

	EQ(merger_new(times_max, &merger), 0);
	EQ(clip_merge(from, clip, merger), 0);
	return merger_finish(merger);
}

TEST(clip_keeps_what_is_within_its_time)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *clipped = NULL;
	static const u64 times[] = { 99, 100, 150, 199, 200 };
	static const s64 values[] = { 1, 2, 3, 4, 5 }, sum[] = { 50 };
	struct profile_set *set = add_process(p, 1);
	const struct profile_sample *samples;

	add_sample(p, set, NULL, 0, times, 5);
	add_sample(p, set, values, 5, times, 5);
	add_sample(p, set, sum, 1, times, 5);
	add_sample(p, set, NULL, 0, times, 1);		/* before it */
	add_sample(p, set, sum, 1, NULL, 0);		/* of a set that begins before it */
	clipped = clip(p, &(struct clip){ 100, 200, 0 }, 100);
	EQ(profile_check(clipped), 0);
	set = clipped->resources.at[0].scopes[0].sets;
	EQ(set->time_unix_ns, 100);
	EQ(set->duration_ns, 100);
	EQ(set->sample_count, 3);
	samples = set->samples;
	EQ(profile_sample_value(&samples[0]), 3);
	EQ(samples[0].times_unix_ns[2], 199);
	EQ(profile_sample_value(&samples[1]), 2 + 3 + 4);
	EQ(profile_sample_value(&samples[2]), 30);
	profile_free(clipped);
	clipped = clip(p, &(struct clip){ 90, 95, 0 }, 100);
	EQ(clipped->resources.at[0].scopes[0].sets->sample_count, 1);
}

TEST(clip_keeps_one_process)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *clipped = NULL;
	static const u64 times[] = { 100 };

	add_sample(p, add_process(p, 1), NULL, 0, times, 1);
	add_sample(p, add_process(p, 2), NULL, 0, times, 1);
	add_sample(p, profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0))), NULL, 0, times, 1);
	clipped = clip(p, &(struct clip){ 100, 200, 2 }, 0);
	EQ(clipped->resources.count, 1);
	EQ(clipped->resources.at[0].attributes[0].value.integer, 2);
	EQ(clipped->resources.at[0].scopes[0].sets->samples[0].values[0], 1);
}

TEST(clip_of_all_time_is_the_whole_and_survives_no_memory)
{
	for (u32 seed = 0; seed < 20; seed++) {
		_cleanup_(profile_freep) struct profile *p = profile_random(seed, 0), *clipped = NULL;

		clipped = clip(p, &(struct clip){ 0, ~0ull, 0 }, 1000000);
		EQ(profile_check(clipped), 0);
		STREQ(test_keep(profile_totals((const struct profile *const[]){ clipped }, 1)),
		      test_keep(profile_totals((const struct profile *const[]){ p }, 1)));
	}
	for (long fail = 0, asked = 1; fail < asked; fail++) {
		_cleanup_(profile_freep) struct profile *p = profile_random(3, 0);
		_cleanup_(merger_freep) struct merger *merger = NULL;
		int r;

		EQ(merger_new(0, &merger), 0);
		test_alloc_fail(fail);
		r = clip_merge(p, &(struct clip){ 0, ~0ull, 0 }, merger);
		asked = test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
}
