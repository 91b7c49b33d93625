// SPDX-License-Identifier: Apache-2.0
/* Children made by vfork work on their parent's memory and stack for a while, then exit. */
#include <sys/wait.h>
#include <unistd.h>

#include "victim.h"

NOINLINE uint64_t vfork_round(uint64_t n)
{
	pid_t pid = vfork();

	if (pid == 0) {
		LEAVES(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return n;
}

void victim_setup(int argc, char **argv)
{
	uint64_t total = 0, n = 1000;

	(void)argc;
	(void)argv;
	while (total < victim_budget_ns) {
		uint64_t now;

		vfork_round(n);
		now = spent_ns[LEAF_A] + spent_ns[LEAF_B] + spent_ns[LEAF_C];
		if (now - total < 100000000)
			n *= 2;
		total = now;
	}
	victim_budget_ns = 0;
}

uint64_t outer(uint64_t n)
{
	return n;
}
