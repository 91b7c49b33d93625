// SPDX-License-Identifier: Apache-2.0
#include "profile/prune.h"

#include <errno.h>

#include "profile/dump_test.h"
#include "test.h"

/* Two resources with two scopes of two sets of three samples; the value of a sample is its number. */
static struct profile *make(void)
{
	struct profile *profile = profile_new();
	s64 number = 0;

	for (int r = 0; r < 2; r++) {
		struct profile_resource *resource = profile_add_resource(profile, NULL, 0);

		for (int s = 0; s < 2; s++) {
			struct profile_scope *scope = profile_add_scope(profile, resource);

			for (int i = 0; i < 2; i++) {
				struct profile_set *set = profile_add_set(profile, scope);

				set->period = r * 4 + s * 2 + i;
				for (int n = 0; n < 3; n++) {
					struct profile_sample *sample = profile_add_sample(profile, set);

					sample->values = profile_copy(profile, &number, sizeof(number));
					sample->value_count = 1;
					number++;
				}
			}
		}
	}
	return profile;
}

static size_t shown_scope(const struct profile_scope *scope, const char *before, char out[256], size_t len)
{
	for (u32 i = 0; i < scope->set_count; i++)
		for (u32 n = 0; n < scope->sets[i].sample_count; n++)
			len += (size_t)snprintf(out + len, 256 - len, "%s%lld", n ? " " : i ? "," : before,
						(long long)scope->sets[i].samples[n].values[0]);
	return len;
}

/* "|0 1 2,3 4 5;...": samples of sets of scopes of resources. */
static const char *shown(const struct profile *profile)
{
	static char out[256];
	size_t len = 0;

	out[0] = 0;
	for (u32 r = 0; r < profile->resources.count; r++) {
		const struct profile_resource *resource = &profile->resources.at[r];

		for (u32 s = 0; s < resource->scope_count; s++)
			len = shown_scope(&resource->scopes[s], s ? ";" : "|", out, len);
	}
	return out;
}

static u64 bits;

static int pick_sample(void *arg, const struct profile_resource *resource, const struct profile_scope *scope,
		       const struct profile_set *set, const struct profile_sample *sample)
{
	return bits >> sample->values[0] & 1;
}

static int pick_set(void *arg, const struct profile_resource *resource, const struct profile_scope *scope,
		    const struct profile_set *set)
{
	return bits >> set->period & 1;
}

static int pick_resource(void *arg, const struct profile_resource *resource)
{
	return resource->scopes[0].sets[0].period == 0;
}

static int fail(void *arg, const struct profile_resource *resource)
{
	return -EDOM;
}

static const char *pruned(const struct prune_ops *ops, u64 dropped, u64 kept)
{
	struct profile *profile = make();
	struct prune prune;
	const char *text;

	EQ(prune_plan(profile, ops, NULL, &prune), 0);
	STREQ(shown(profile), "|0 1 2,3 4 5;6 7 8,9 10 11|12 13 14,15 16 17;18 19 20,21 22 23");
	EQ(prune.samples_dropped, dropped);
	EQ(prune.samples_kept, kept);
	prune_apply(profile, &prune);
	prune_done(&prune);
	EQ(profile_check(profile), 0);
	text = shown(profile);
	profile_free(profile);
	return text;
}

TEST(prune_takes_samples_and_what_is_empty_then)
{
	static const struct prune_ops ops = { .sample = pick_sample };

	bits = 0;
	STREQ(pruned(&ops, 0, 24), "|0 1 2,3 4 5;6 7 8,9 10 11|12 13 14,15 16 17;18 19 20,21 22 23");
	bits = 1 << 1 | 7 << 3;
	STREQ(pruned(&ops, 4, 20), "|0 2;6 7 8,9 10 11|12 13 14,15 16 17;18 19 20,21 22 23");
	bits = 0xfff | 1 << 13 | 0x3f << 18;
	STREQ(pruned(&ops, 19, 5), "|12 14,15 16 17");
	bits = 0xffffff;
	STREQ(pruned(&ops, 24, 0), "");
}

TEST(prune_takes_sets_and_resources)
{
	static const struct prune_ops sets = { .set = pick_set }, resources = { .resource = pick_resource };
	static const struct prune_ops all = { .resource = pick_resource, .set = pick_set, .sample = pick_sample };

	bits = 1 << 0 | 1 << 2 | 1 << 3;
	STREQ(pruned(&sets, 9, 15), "|3 4 5|12 13 14,15 16 17;18 19 20,21 22 23");
	STREQ(pruned(&resources, 12, 12), "|12 13 14,15 16 17;18 19 20,21 22 23");
	bits = 1 << 4 | 1 << 15 | 1 << 23;
	STREQ(pruned(&all, 17, 7), "|16 17;18 19 20,21 22");
}

TEST(prune_ends_with_the_first_failure)
{
	static const struct prune_ops ops = { .resource = fail };
	_cleanup_(profile_freep) struct profile *profile = make();
	struct prune prune;

	EQ(prune_plan(profile, &ops, NULL, &prune), -EDOM);
	prune_done(&prune);
}
