// SPDX-License-Identifier: Apache-2.0
#include "net/shares.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

void shares_init(struct shares *shares)
{
	memset(shares, 0, sizeof(*shares));
	if (getrandom(&shares->seed, sizeof(shares->seed), GRND_NONBLOCK) != sizeof(shares->seed))
		shares->seed = (u64)(uintptr_t)shares;
}

struct share *shares_of(struct shares *shares, u64 key)
{
	return &shares->at[((key ^ shares->seed) * 0x9e3779b97f4a7c15) >> 54];
}

struct share *shares_greediest(struct shares *shares)
{
	struct share *most = &shares->at[0];

	for (u32 i = 1; i < SHARES; i++)
		if (shares->at[i].connections > most->connections)
			most = &shares->at[i];
	return most;
}

bool share_reset(struct share *share, u64 now_ns)
{
	share->resets_spent -= (double)(now_ns - share->resets_ns) / SECOND_NS * SHARE_RESETS_PER_SECOND;
	if (share->resets_spent < 0)
		share->resets_spent = 0;
	share->resets_ns = now_ns;
	if (share->resets_spent + 1 > SHARE_RESETS_BURST)
		return false;
	share->resets_spent += 1;
	return true;
}
