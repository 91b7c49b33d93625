// SPDX-License-Identifier: Apache-2.0
#include "agent/usage.h"

#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"

static u64 cpu_ns(pid_t pid)
{
	struct timespec spent;
	clockid_t clock;

	if (!pid || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &spent) < 0)
		return 0;
	return (u64)spent.tv_sec * SECOND_NS + (u64)spent.tv_nsec;
}

/* One that took the place of another begins at nothing: all that it has used is ours. */
u64 usage_step(struct usage *usage, const pid_t *pids, u32 count)
{
	for (u32 i = 0; i < count && i < USAGE_PIDS; i++) {
		u64 now_ns = cpu_ns(pids[i]);
		u64 before_ns = pids[i] == usage->pids[i] ? usage->seen_ns[i] : 0;

		if (now_ns > before_ns)
			usage->total_ns += now_ns - before_ns;
		usage->pids[i] = pids[i];
		usage->seen_ns[i] = now_ns > before_ns ? now_ns : before_ns;
	}
	return usage->total_ns;
}

static u64 timeval_ns(struct timeval t)
{
	return (u64)t.tv_sec * SECOND_NS + (u64)t.tv_usec * 1000;
}

/* One that has ended but was not waited for is missing for a moment. */
u64 usage_family(const pid_t *children, u32 count, u64 *most)
{
	u64 used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct rusage ended;

	if (getrusage(RUSAGE_CHILDREN, &ended) == 0)
		used_ns += timeval_ns(ended.ru_utime) + timeval_ns(ended.ru_stime);
	for (u32 i = 0; i < count; i++)
		used_ns += cpu_ns(children[i]);
	*most = used_ns > *most ? used_ns : *most;
	return *most;
}
