// SPDX-License-Identifier: Apache-2.0
#include "base/growth.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/budget.h"
#include "base/lock.h"

#define SHARES 1024

/* It leaks: `most` in a period. */
struct spent {
	u64 bytes, at_ns;
};

static struct {
	pthread_mutex_t lock;
	u64 seed;
	struct spent all, by[SHARES];
} ledger = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A dictionary takes three eighths of the budget; senders may fill most of one. */
u64 growth_most(void)
{
	u64 limit = budget_limit();

	return limit == UINT64_MAX ? limit : limit / 4;
}

static struct spent *spent_of(u64 sender)
{
	if (!ledger.seed && getrandom(&ledger.seed, sizeof(ledger.seed), GRND_NONBLOCK) != sizeof(ledger.seed))
		ledger.seed = (u64)(uintptr_t)&sender;
	return &ledger.by[((sender ^ ledger.seed) * 0x9e3779b97f4a7c15) >> 54];
}

static void leak(struct spent *spent, u64 most, u64 now_ns)
{
	u64 passed_ns = now_ns > spent->at_ns ? now_ns - spent->at_ns : 0;
	u64 leaked = (u64)((__uint128_t)most * passed_ns / GROWTH_PERIOD_NS);

	spent->bytes -= leaked < spent->bytes ? leaked : spent->bytes;
	spent->at_ns = now_ns;
}

void growth_note(u64 sender, u64 bytes, u64 now_ns)
{
	u64 most = growth_most();
	struct spent *own;

	if (sender == GROWTH_LOCAL || most == UINT64_MAX)
		return;
	LOCKED(&ledger.lock);
	own = spent_of(sender);
	leak(own, most / 2, now_ns);
	leak(&ledger.all, most, now_ns);
	own->bytes += bytes;
	ledger.all.bytes += bytes;
}

/* Of `most`, if those that have something of it had equal parts. */
static u64 equal_part(u64 most, u64 now_ns)
{
	u32 count = 0;

	for (u32 i = 0; i < SHARES; i++) {
		leak(&ledger.by[i], most / 2, now_ns);
		count += ledger.by[i].bytes > 0;
	}
	return most / (count ? count : 1);
}

bool growth_allows(u64 sender, u64 now_ns)
{
	u64 most = growth_most();
	struct spent *own;

	if (sender == GROWTH_LOCAL || most == UINT64_MAX)
		return true;
	LOCKED(&ledger.lock);
	own = spent_of(sender);
	leak(own, most / 2, now_ns);
	leak(&ledger.all, most, now_ns);
	if (own->bytes > most / 2)
		return false;
	return ledger.all.bytes <= most || own->bytes <= equal_part(most, now_ns);
}

void growth_reset(void)
{
	LOCKED(&ledger.lock);
	memset(&ledger.all, 0, sizeof(ledger.all));
	memset(ledger.by, 0, sizeof(ledger.by));
}
