// SPDX-License-Identifier: Apache-2.0
#include "profile/append.h"

#include <errno.h>
#include <stdint.h>

#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

TEST(append_copies_a_profile_as_it_is)
{
	for (unsigned int seed = 0; seed < 10; seed++) {
		struct profile *from = profile_random(seed, 0), *into = profile_new();
		struct appender *appender = appender_new(from);
		u64 count;

		EQ(appender_next(appender, into, UINT64_MAX, &count), 0);
		OK(appender_done(appender));
		EQ(profile_check(into), 0);
		STREQ(test_keep(profile_dump(into)), test_keep(profile_dump(from)));
		EQ(appender_next(appender, into, 1, &count), 0);
		EQ(count, 0);
		appender_free(appender);
		profile_free(from);
		profile_free(into);
	}
}

TEST(append_cuts_a_profile_into_pieces_that_hold_all_of_it)
{
	struct profile *from = profile_random(7, 0), *pieces[4096];
	struct appender *appender = appender_new(from);
	unsigned int piece_count = 0;
	u64 count;

	for (; !appender_done(appender); piece_count++) {
		OK(piece_count < 4096);
		pieces[piece_count] = test_keep(profile_new());
		EQ(appender_next(appender, pieces[piece_count], 3, &count), 0);
		OK(count == 3 || appender_done(appender));
		EQ(profile_check(pieces[piece_count]), 0);
		OK(pieces[piece_count]->strings.count < from->strings.count);
	}
	OK(piece_count > 3);
	STREQ(test_keep(profile_totals((const struct profile *const *)pieces, piece_count)),
	      test_keep(profile_totals((const struct profile *const *)&from, 1)));
	profile_free(from);
	appender_free(appender);
}

TEST(append_joins_profiles_and_shares_their_tables)
{
	struct profile *from[3] = { profile_random(1, 0), profile_random(1, 0), profile_random(2, 0) };
	struct profile *into = profile_new();
	u64 count;

	for (int i = 0; i < 3; i++) {
		struct appender *appender = appender_new(from[i]);

		EQ(appender_next(appender, into, UINT64_MAX, &count), 0);
		appender_free(appender);
	}
	EQ(profile_check(into), 0);
	EQ(into->resources.count, from[0]->resources.count * 2 + from[2]->resources.count);
	OK(into->stacks.count < from[0]->stacks.count + from[2]->stacks.count);
	STREQ(test_keep(profile_totals((const struct profile *const *)&into, 1)),
	      test_keep(profile_totals((const struct profile *const *)from, 3)));
	for (int i = 0; i < 3; i++)
		profile_free(from[i]);
	profile_free(into);
}

TEST(append_survives_without_memory)
{
	struct profile *from = profile_random(3, 0);
	long asked = 1;

	for (long i = 0; i < asked; i += 1 + i / 50) {
		struct profile *into = profile_new();
		struct appender *appender;
		u64 count;
		int r = -ENOMEM;

		test_alloc_fail(i);
		appender = appender_new(from);
		if (appender)
			r = appender_next(appender, into, UINT64_MAX, &count);
		asked = test_alloc_reset();
		EQ(r, asked > i ? -ENOMEM : 0);
		appender_free(appender);
		profile_free(into);
	}
	profile_free(from);
}
