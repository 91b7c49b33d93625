// SPDX-License-Identifier: Apache-2.0
/* victim SECONDS: runs the scenario for that much CPU time and prints what it measured. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "victim.h"

#define ROUND_NS 10000000

#ifdef MARK
/* Programs that differ in nothing but symbols get the same build id, and then the same names. */
const char victim_mark[] __attribute__((used)) = MARK;
#endif

uint64_t spent_ns[LEAF_COUNT], victim_budget_ns;
volatile uint64_t victim_sink;

NOINLINE uint64_t victim_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

NOINLINE void victim_main(uint64_t budget_ns)
{
	uint64_t start = victim_cpu_ns(), now = start, n = 1000, chance = 1;

	while (now - start < budget_ns) {
		uint64_t from = now;

		/* Rounds of one length could keep step with the sampler's clock. */
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		victim_sink += outer(n - n / 4 + (chance >> 33) % (n / 2));
		now = victim_cpu_ns();
		if (now - from < ROUND_NS / 2)
			n *= 2;
	}
}

int main(int argc, char **argv)
{
	victim_budget_ns = (uint64_t)((argc > 1 ? strtod(argv[1], NULL) : 1) * 1e9);
	if (victim_setup)
		victim_setup(argc, argv);
	victim_main(victim_budget_ns);
	printf("{\"pid\": %d, \"leaf_a\": %" PRIu64 ", \"leaf_b\": %" PRIu64 ", \"leaf_c\": %" PRIu64 "}\n", getpid(),
	       spent_ns[LEAF_A], spent_ns[LEAF_B], spent_ns[LEAF_C]);
	return 0;
}
