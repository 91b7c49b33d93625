// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_shape.h"

#include <errno.h>

#include "profile/any.h"
#include "profile/dump_test.h"
#include "test.h"

#define NOW 1000000000000000000ull
#define HOUR 3600000000000ll

static const struct pyroscope_shape_options plain = { .max_age_ns = HOUR, .max_ahead_ns = HOUR / 6 };

/* A process with samples of one stack each, in every thread. */
static struct profile_set *add_process(struct profile *p, s64 pid, const char *program, u32 samples)
{
	const struct keyvalue attributes[] = {
		{ STR("process.pid"), { .kind = ANY_INT, .integer = pid } },
		{ STR("process.executable.name"), { .kind = ANY_STRING, .string = { program, (u32)strlen(program) } } },
	};
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, attributes, 2));
	struct profile_set *set = profile_add_set(p, scope);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, "samples"), profile_add_cstring(p, "count") };
	set->time_unix_ns = NOW;
	for (u32 i = 0; i < samples; i++) {
		u32 location = profile_add_location(p, &(struct profile_location){ .address = i + 1 });
		u32 thread = profile_add_attribute_int(p, "thread.id", pid);
		u64 times[] = { NOW, NOW + 1 };
		struct profile_sample *sample = profile_add_sample(p, set);

		sample->stack = profile_add_stack(p, &location, 1);
		sample->attributes = profile_copy_indices(p, &thread, 1);
		sample->times_unix_ns = profile_copy(p, times, sizeof(times));
		sample->time_count = 2;
	}
	return set;
}

static struct profile *shape(const struct profile *from, const struct pyroscope_shape_options *options,
			     struct pyroscope_shape_losses *ret_losses)
{
	struct profile *shaped;

	EQ(pyroscope_shape(from, options, NOW, &shaped, ret_losses), 0);
	EQ(profile_check(shaped), 0);
	return shaped;
}

TEST(pyroscope_shape_joins_what_has_equal_labels)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *shaped = NULL, *apart = NULL, *threads = NULL;
	struct pyroscope_shape_options options = plain;
	struct pyroscope_shape_losses losses;
	const struct profile_set *set;

	add_process(p, 1, "app", 3);
	add_process(p, 2, "app", 3);
	add_process(p, 3, "other", 1);
	shaped = shape(p, &plain, &losses);
	EQ(pyroscope_series_count(shaped), 2);
	set = shaped->resources.at[0].scopes[0].sets;
	EQ(set->sample_count, 3);
	EQ(set->samples[0].value_count, 1);
	EQ(set->samples[0].values[0], 4);
	EQ(set->samples[0].time_count, 0);
	EQ(set->samples[0].attributes.count, 0);
	EQ(losses.old_samples + losses.early_samples + losses.attributes, 0);
	options.per_process = true;
	apart = shape(p, &options, &losses);
	EQ(pyroscope_series_count(apart), 3);
	options.per_process = false;
	options.sample_attributes = (struct config_texts){ 1, (const char *const[]){ "thread.id" } };
	threads = shape(p, &options, &losses);
	EQ(threads->resources.at[0].scopes[0].sets->sample_count, 6);
	EQ(threads->resources.at[0].scopes[0].sets->samples[0].attributes.count, 1);
}

TEST(pyroscope_shape_completes_sets_and_names_frames)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *shaped = NULL;
	struct pyroscope_shape_losses losses;
	struct profile_set *set = add_process(p, 1, "app", 1);
	struct str name;

	set->sample_type.type = profile_add_cstring(p, "cpu-samples");
	set->original_payload = STR("as it was");
	add_process(p, 1, "app", 1)->sample_type.type = profile_add_cstring(p, "off_cpu");
	add_process(p, 1, "app", 0);
	shaped = shape(p, &plain, &losses);
	EQ(pyroscope_series_count(shaped), 2);
	set = shaped->resources.at[0].scopes[0].sets;
	OK(str_equal(shaped->strings.at[set->sample_type.type], STR("cpu_samples")));
	EQ(set->original_payload.len, 0);
	EQ(set->period, 1);
	EQ(set->period_type.type, set->sample_type.type);
	EQ(set[1].period, 0);
	EQ(set[1].period_type.type, 0);
	for (u32 i = 1; i < shaped->locations.count; i++) {
		name = shaped->strings.at[shaped->functions.at[shaped->locations.at[i].lines[0].function].name];
		OK(str_equal(name, STR("0x1")));
	}
}

TEST(pyroscope_shape_leaves_out_what_is_too_old_or_too_new)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *shaped = NULL, *all = NULL;
	struct pyroscope_shape_losses losses;

	add_process(p, 1, "old", 3)->time_unix_ns = NOW - HOUR - 1;
	add_process(p, 2, "nearly", 4)->time_unix_ns = NOW - HOUR;
	add_process(p, 3, "early", 5)->time_unix_ns = NOW + HOUR / 6 + 1;
	add_process(p, 4, "timeless", 6)->time_unix_ns = 0;
	OK(pyroscope_is_late(p, &plain, NOW));
	shaped = shape(p, &plain, &losses);
	EQ(losses.old_samples, 3);
	EQ(losses.early_samples, 5);
	EQ(pyroscope_series_count(shaped), 2);
	OK(!pyroscope_is_late(shaped, &plain, NOW));
	OK(pyroscope_is_late(shaped, &plain, NOW + 1));
	all = shape(p, &(struct pyroscope_shape_options){ 0 }, &losses);
	EQ(pyroscope_series_count(all), 4);
}

TEST(pyroscope_pick_takes_series_by_their_number)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *picked = NULL;
	const struct profile_resource *resource;

	add_process(p, 1, "a", 1);
	add_process(p, 2, "nothing", 0);
	add_process(p, 3, "b", 2);
	add_process(p, 4, "c", 3);
	EQ(pyroscope_series_count(p), 3);
	EQ(pyroscope_pick(p, (const u8[]){ 1 << 1 }, &picked), 0);
	EQ(profile_check(picked), 0);
	EQ(pyroscope_series_count(picked), 1);
	resource = &picked->resources.at[0];
	OK(str_equal(any_text(keyvalue_find(resource->attributes, 2, "process.executable.name")), STR("b")));
	EQ(resource->scopes[0].sets[0].sample_count, 2);
}

struct cuts {
	struct profile *at[16];
	u32 count;
};

static int add_cut(void *arg, struct profile *piece)
{
	struct cuts *cuts = arg;

	OK(cuts->count < 16);
	cuts->at[cuts->count++] = piece;
	return 0;
}

static void cuts_done(struct cuts *cuts)
{
	for (u32 i = 0; i < cuts->count; i++)
		profile_free(cuts->at[i]);
}

static u64 first_time(const struct profile *p)
{
	return p->resources.at[0].scopes[0].sets[0].time_unix_ns;
}

TEST(pyroscope_cut_loses_nothing_and_keeps_times_apart)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(cuts_done) struct cuts by_samples = { 0 }, by_series = { 0 };

	add_process(p, 1, "a", 5);
	add_process(p, 2, "b", 2);
	add_process(p, 3, "c", 1);
	EQ(pyroscope_cut(p, 10, 2, add_cut, &by_samples), 0);
	EQ(by_samples.count, 4);	/* aa aa ab bc */
	EQ(first_time(by_samples.at[0]), NOW);
	EQ(first_time(by_samples.at[1]), NOW + 1000000);
	EQ(first_time(by_samples.at[2]), NOW + 2000000);
	EQ(first_time(by_samples.at[3]), NOW + 3000000);
	EQ(pyroscope_series_count(by_samples.at[2]), 2);
	EQ(pyroscope_cut(p, 2, 1000, add_cut, &by_series), 0);
	EQ(by_series.count, 2);
	STREQ(test_keep(profile_totals((const struct profile *const *)by_series.at, 2)),
	      test_keep(profile_totals((const struct profile *const[]){ p }, 1)));
	EQ(pyroscope_series_count(by_series.at[0]), 2);
}

TEST(pyroscope_shape_survives_every_profile_and_no_memory)
{
	for (u32 seed = 0; seed < 30; seed++) {
		_cleanup_(profile_freep) struct profile *p = profile_random(seed, 0), *shaped = NULL;
		struct pyroscope_shape_losses losses;

		shaped = shape(p, &(struct pyroscope_shape_options){ .service = seed % 3 }, &losses);
		EQ(profile_err(shaped), 0);
	}
	for (long fail = 0, asked = 1; fail < asked; fail++) {
		_cleanup_(profile_freep) struct profile *p = profile_random(3, 0), *shaped = NULL;
		struct pyroscope_shape_losses losses;
		int r;

		test_alloc_fail(fail);
		r = pyroscope_shape(p, &plain, NOW, &shaped, &losses);
		asked = test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
}
