// SPDX-License-Identifier: Apache-2.0
#include "base/sender_time.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/lock.h"

#define SHARES 1024
#define FITS (1 / 8.0)		/* of what a span may cost */
#define LEAKS (5 / 8.0)		/* ... in a span; the rest is for what is under way when it is full */
#define COUNT_AGAIN_NS (SECOND_NS / 10)

struct spent {
	u64 ns, at_ns;
};

static struct {
	pthread_mutex_t lock;
	atomic_bool is_on;
	const void *owner;
	struct sender_time_limit limit;
	u64 start_ns;			/* of the first limit; 0: there was none */
	u64 seed;
	struct spent all, by[SHARES];
	u32 count;			/* of those who have something, and who had when it was counted last */
	u64 counted_ns;
	u64 used_ns, turned_away, turned_away_ns;
} ledger = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- The limit ------------------------------------------------------------------------------ */

void sender_time_set(const void *owner, const struct sender_time_limit *limit, u64 now_ns)
{
	LOCKED(&ledger.lock);
	if (limit->cpus <= 0 && ledger.owner != owner)
		return;
	ledger.owner = limit->cpus > 0 ? owner : NULL;
	ledger.limit = *limit;
	if (limit->cpus > 0 && !ledger.start_ns)
		ledger.start_ns = now_ns;
	atomic_store(&ledger.is_on, limit->cpus > 0);
}

static u64 span_may_cost(void)
{
	return (u64)(ledger.limit.cpus * (double)ledger.limit.span_ns);
}

static bool counts(u64 sender, u64 now_ns)
{
	return ledger.owner && sender != SENDER_TIME_LOCAL && now_ns - ledger.start_ns >= ledger.limit.span_ns;
}

/* ---- Buckets -------------------------------------------------------------------------------- */

static struct spent *spent_of(u64 sender)
{
	if (!ledger.seed && getrandom(&ledger.seed, sizeof(ledger.seed), GRND_NONBLOCK) != sizeof(ledger.seed))
		ledger.seed = (u64)(uintptr_t)&sender;
	return &ledger.by[((sender ^ ledger.seed) * 0x9e3779b97f4a7c15) >> 54];
}

/* All together leak as fast as it should; each an equal part of that. Threads' times may come out of order. */
static void leak(struct spent *spent, u32 parts, u64 now_ns)
{
	u64 leaked_ns;

	if (now_ns <= spent->at_ns)
		return;
	leaked_ns = (u64)(ledger.limit.cpus * LEAKS * (double)(now_ns - spent->at_ns) / (parts ? parts : 1));
	spent->ns -= leaked_ns < spent->ns ? leaked_ns : spent->ns;
	spent->at_ns = now_ns;
}

/* What is past a span's worth would be held against it for longer than a span. */
static void add(struct spent *spent, u64 ns)
{
	u64 most = span_may_cost();

	spent->ns = ns < most && spent->ns < most - ns ? spent->ns + ns : most;
}

static void count_again(u64 now_ns)
{
	u32 before = ledger.count;

	if (before && now_ns - ledger.counted_ns < COUNT_AGAIN_NS)
		return;
	ledger.counted_ns = now_ns;
	ledger.count = 0;
	for (u32 i = 0; i < SHARES; i++) {
		leak(&ledger.by[i], before, now_ns);
		ledger.count += ledger.by[i].ns > 0;
	}
}

void sender_time_note(u64 sender, u64 cpu_ns, u64 now_ns)
{
	struct spent *own;

	LOCKED(&ledger.lock);
	if (!counts(sender, now_ns))
		return;
	own = spent_of(sender);
	leak(own, ledger.count, now_ns);
	leak(&ledger.all, 1, now_ns);
	ledger.count += !own->ns;
	add(own, cpu_ns);
	add(&ledger.all, cpu_ns);
	ledger.used_ns += cpu_ns;
}

/* One that has nothing counts as one more: its part is smaller for it, but never none. */
static bool is_full_for(u64 sender, u64 now_ns)
{
	u64 fits = (u64)((double)span_may_cost() * FITS);
	struct spent *own = spent_of(sender);

	leak(&ledger.all, 1, now_ns);
	if (ledger.all.ns <= fits)
		return false;
	count_again(now_ns);
	leak(own, ledger.count, now_ns);
	return own->ns > fits / (ledger.count + !own->ns);
}

bool sender_time_allows(u64 sender, u64 now_ns)
{
	if (!atomic_load(&ledger.is_on))
		return true;
	LOCKED(&ledger.lock);
	if (!counts(sender, now_ns) || !is_full_for(sender, now_ns))
		return true;
	ledger.turned_away++;
	ledger.turned_away_ns = now_ns;
	return false;
}

/* ---- Clocks, and what is told ---------------------------------------------------------------- */

u64 sender_time_of_thread(void)
{
	return atomic_load(&ledger.is_on) ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
}

void sender_time_note_since(u64 sender, u64 began_ns)
{
	u64 now_ns = began_ns ? sender_time_of_thread() : 0;

	if (now_ns > began_ns && sender != SENDER_TIME_LOCAL)
		sender_time_note(sender, now_ns - began_ns, monotonic_ns());
}

struct sender_time_told sender_time_tell(u64 now_ns)
{
	LOCKED(&ledger.lock);
	return (struct sender_time_told){ ledger.used_ns, ledger.turned_away,
					  ledger.owner && ledger.turned_away_ns &&
					  now_ns - ledger.turned_away_ns < ledger.limit.span_ns / 6 };
}

void sender_time_reset(void)
{
	LOCKED(&ledger.lock);
	atomic_store(&ledger.is_on, false);
	ledger.owner = NULL;
	ledger.start_ns = ledger.counted_ns = ledger.used_ns = ledger.turned_away = ledger.turned_away_ns = 0;
	ledger.count = 0;
	memset(&ledger.all, 0, sizeof(ledger.all));
	memset(ledger.by, 0, sizeof(ledger.by));
}
