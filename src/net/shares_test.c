// SPDX-License-Identifier: Apache-2.0
#include "net/shares.h"

#include "base/clock.h"
#include "test.h"

TEST(shares_count_resets_over_all_connections_of_a_caller)
{
	static struct shares shares;
	struct share *share;
	u64 now_ns = 5 * SECOND_NS;

	shares_init(&shares);
	share = shares_of(&shares, 7);
	OK(share == shares_of(&shares, 7));
	for (int i = 0; i < SHARE_RESETS_BURST; i++)
		OK(share_reset(share, now_ns));
	OK(!share_reset(share, now_ns));
	now_ns += SECOND_NS;
	for (int i = 0; i < SHARE_RESETS_PER_SECOND; i++)
		OK(share_reset(share, now_ns));
	OK(!share_reset(share, now_ns));
}

TEST(shares_know_who_has_most_connections)
{
	static struct shares shares;

	shares_init(&shares);
	shares_of(&shares, 1)->connections += 2;
	shares_of(&shares, 2)->connections += 9;
	OK(shares_greediest(&shares) == shares_of(&shares, 2));
}
