// SPDX-License-Identifier: Apache-2.0
#include "micro.h"

#include <stdio.h>
#include <time.h>

#define MICRO_NS 500000000ull

static u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

struct micro micro_start(void)
{
	u64 now = cpu_ns();

	return (struct micro){ .start_ns = now, .end_ns = now };
}

bool micro_more(struct micro *m)
{
	m->end_ns = cpu_ns();
	if (m->rounds && m->end_ns - m->start_ns >= MICRO_NS)
		return false;
	m->rounds++;
	return true;
}

void micro_report(const struct micro *m, const char *name, u64 things, const char *kind, u64 bytes)
{
	double seconds = (m->end_ns - m->start_ns) / 1e9;
	double each_ns = seconds * 1e9 / ((double)m->rounds * things);

	printf("%-40s %10.1f ns each, %.2f million %s/s", name, each_ns, 1e3 / each_ns, kind);
	if (bytes)
		printf(", %.0f MB/s", (double)bytes * m->rounds / seconds / 1e6);
	putchar('\n');
}
