// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch.h"

#include <errno.h>
#include <pthread.h>

#include "base/buf.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/otlp/otlp.h"

static struct batch *from_bytes(unsigned int seed)
{
	struct profile *profile = profile_random(seed, 0);
	struct batch *made = batch_from_profile(profile), *batch;
	u64 samples = batch_samples(made);
	struct buf bytes;

	buf_init(&bytes, BATCH_BYTES_MAX);
	EQ(otlp_encode(profile, &bytes), 0);
	batch = batch_from_bytes(&bytes, samples);
	OK(batch && !bytes.data);
	batch_unref(made);
	return batch;
}

static char *dump(struct batch *batch)
{
	const struct profile *profile;

	EQ(batch_profile(batch, &profile), 0);
	return test_keep(profile_dump(profile));
}

TEST(batch_has_both_forms)
{
	struct batch *a = from_bytes(1), *b = batch_from_profile(profile_random(1, 0));
	size_t a_len, b_len, light = batch_weight(a);
	const void *a_at, *b_at;

	EQ(batch_samples(a), batch_samples(b));
	OK(batch_samples(a) > 0);
	OK(batch_resources(a) > 0);
	EQ(batch_resources(a), batch_resources(b));
	EQ(batch_weight(a), light);
	STREQ(dump(a), dump(b));
	OK(batch_weight(a) > light);
	EQ(batch_bytes(a, &a_at, &a_len), 0);
	EQ(batch_bytes(b, &b_at, &b_len), 0);
	EQ(a_len, b_len);
	OK(!memcmp(a_at, b_at, a_len));
	batch_unref(a);
	batch_unref(b);
}

TEST(batch_is_edited_in_place_by_its_only_holder)
{
	struct batch *batch = from_bytes(2), *before = batch;
	u64 samples = batch_samples(batch);
	struct profile *profile;
	const void *at;
	size_t len, len_before;

	EQ(batch_bytes(batch, &at, &len_before), 0);
	EQ(batch_edit(&batch, &profile), 0);
	OK(batch == before);
	profile->resources.at[0].scopes[0].sets[0].sample_count--;
	batch_edited(batch);
	EQ(batch_samples(batch), samples - 1);
	EQ(batch_bytes(batch, &at, &len), 0);
	OK(len < len_before);
	batch_unref(batch);
}

static void edit_shared(struct batch *shared)
{
	struct batch *mine = batch_ref(shared);
	char *before = dump(shared);
	u64 samples = batch_samples(shared);
	struct profile *profile;

	EQ(batch_edit(&mine, &profile), 0);
	OK(mine != shared);
	STREQ(dump(mine), before);
	profile->resources.at[0].scopes[0].sets[0].sample_count--;
	batch_edited(mine);
	EQ(batch_samples(mine), samples - 1);
	EQ(batch_samples(shared), samples);
	STREQ(dump(shared), before);
	batch_unref(mine);
	batch_unref(shared);
}

TEST(batch_that_is_shared_is_copied_before_edits)
{
	edit_shared(from_bytes(3));
	edit_shared(batch_from_profile(profile_random(3, 0)));
}

TEST(batch_says_that_bytes_are_no_profile)
{
	const struct profile *profile;
	struct profile *edited;
	struct batch *batch;
	struct buf bytes;

	buf_init(&bytes, 100);
	buf_add(&bytes, "\xff\xff\xff", 3);
	batch = batch_from_bytes(&bytes, 1);
	EQ(batch_profile(batch, &profile), -EBADMSG);
	EQ(batch_edit(&batch, &edited), -EBADMSG);
	batch_unref(batch);
	batch_unref(NULL);
}

TEST(batch_survives_without_memory)
{
	long asked = 1;

	for (long i = 0; i < asked; i++) {
		struct batch *batch = i % 2 ? from_bytes(4) : batch_from_profile(profile_random(4, 0));
		struct batch *other = batch_ref(batch);
		struct profile *profile;
		int r;

		test_alloc_fail(i);
		r = batch_edit(&other, &profile);
		asked = test_alloc_reset();
		EQ(r, asked > i ? -ENOMEM : 0);
		OK((other == batch) == (r < 0));
		STREQ(dump(other), dump(batch));
		batch_unref(batch);
		batch_unref(other);
		asked += i % 2 == 0;
	}
	test_alloc_fail(0);
	OK(!batch_from_profile(NULL));
	test_alloc_reset();
}

static void *uses(void *arg)
{
	struct batch *batch = arg;
	const struct profile *profile;
	struct profile *edited;
	const void *at;
	size_t len;

	EQ(batch_profile(batch, &profile), 0);
	EQ(batch_bytes(batch, &at, &len), 0);
	OK(profile->strings.count > 0 && ((const char *)at)[len - 1] >= -128);
	EQ(batch_edit(&batch, &edited), 0);
	edited->resources.at[0].scopes[0].sets[0].sample_count--;
	batch_edited(batch);
	EQ(batch_bytes(batch, &at, &len), 0);
	batch_unref(batch);
	return NULL;
}

TEST(batch_is_used_by_many_threads_at_once)
{
	for (unsigned int seed = 0; seed < 8; seed++) {
		struct batch *batch = seed % 2 ? from_bytes(seed) : batch_from_profile(profile_random(seed, 0));
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			EQ(pthread_create(&threads[i], NULL, uses, i < 3 ? batch_ref(batch) : batch), 0);
		for (int i = 0; i < 4; i++)
			EQ(pthread_join(threads[i], NULL), 0);
	}
}
