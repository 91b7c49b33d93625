// SPDX-License-Identifier: Apache-2.0
#include "pipeline/regroup.h"

#include <errno.h>

#include "base/buf.h"
#include "pipeline/batch.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

#define SEEN_MAX 4096

struct seen {
	struct batch *at[SEEN_MAX];
	u32 count;
	u64 samples;
	int result;
};

static int see(void *arg, struct batch *batch)
{
	struct seen *seen = arg;

	OK(seen->count < SEEN_MAX);
	seen->at[seen->count++] = test_keep(batch);
	seen->samples += batch_samples(batch);
	return seen->result;
}

static char *totals(struct batch *const *batches, u32 count)
{
	const struct profile *profiles[SEEN_MAX];

	for (u32 i = 0; i < count; i++)
		EQ(batch_profile(batches[i], &profiles[i]), 0);
	return test_keep(profile_totals(profiles, count));
}

static void make(struct batch **batches, u32 count)
{
	for (u32 i = 0; i < count; i++)
		batches[i] = test_keep(batch_from_profile(profile_random(i, 0)));
}

TEST(regroup_joins_batches)
{
	struct seen seen = { 0 };
	struct batch *in[5];
	u64 lost;

	make(in, 5);
	EQ(batches_regroup(in, 5, 0, see, &seen, &lost), 0);
	EQ(seen.count, 1);
	EQ(lost, 0);
	STREQ(totals(seen.at, seen.count), totals(in, 5));
}

TEST(regroup_cuts_what_is_too_large)
{
	struct seen seen = { 0 };
	struct batch *in[3];
	u64 lost, samples = 0;

	make(in, 3);
	for (int i = 0; i < 3; i++)
		samples += batch_samples(in[i]);
	EQ(batches_regroup(in, 3, 4, see, &seen, &lost), 0);
	EQ(seen.samples, samples);
	EQ(seen.count, (samples + 3) / 4);
	for (u32 i = 0; i < seen.count; i++)
		OK(batch_samples(seen.at[i]) <= 4);
	STREQ(totals(seen.at, seen.count), totals(in, 3));
}

TEST(regroup_passes_one_that_fits)
{
	struct seen seen = { 0 };
	struct batch *in[1];
	u64 lost;

	make(in, 1);
	EQ(batches_regroup(in, 1, batch_samples(in[0]), see, &seen, &lost), 0);
	EQ(seen.count, 1);
	OK(seen.at[0] == in[0]);
}

TEST(regroup_goes_on_after_errors)
{
	struct seen seen = { .result = -EAGAIN };
	struct batch *in[3];
	struct buf bytes;
	u64 lost;

	make(in, 3);
	buf_init(&bytes, 10);
	buf_add(&bytes, "\xff\xff", 2);
	in[1] = test_keep(batch_from_bytes(&bytes, 17));
	EQ(batches_regroup(in, 3, 0, see, &seen, &lost), -EBADMSG);
	EQ(lost, 17);
	EQ(seen.samples, batch_samples(in[0]) + batch_samples(in[2]));
	EQ(batches_regroup(in, 1, 1, see, &seen, &lost), -EAGAIN);
	EQ(lost, 0);
}

TEST(regroup_counts_what_is_lost_without_memory)
{
	struct batch *in[2];
	u64 samples, lost;
	long asked = 1;

	make(in, 2);
	samples = batch_samples(in[0]) + batch_samples(in[1]);
	for (long i = 0; i < asked; i += 1 + i / 20) {
		struct seen seen = { 0 };
		int r;

		test_alloc_fail(i);
		r = batches_regroup(in, 2, 5, see, &seen, &lost);
		asked = test_alloc_reset();
		EQ(r, asked > i ? -ENOMEM : 0);
		EQ(lost + seen.samples, samples);
	}
}
