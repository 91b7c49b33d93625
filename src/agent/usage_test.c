// SPDX-License-Identifier: Apache-2.0
#include "agent/usage.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

static void spin(u64 ns)
{
	u64 end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
}

TEST(usage_adds_up_what_processes_use)
{
	struct usage usage = { 0 };
	pid_t child = fork(), pids[2] = { getpid(), child };
	u64 before, after;

	if (!child) {
		for (;;)
			pause();
	}
	before = usage_step(&usage, pids, 2);
	spin(20000000);
	after = usage_step(&usage, pids, 2);
	OK(after - before >= 20000000);
	kill(child, SIGKILL);
	EQ(waitpid(child, NULL, 0), child);
	pids[1] = 0;
	OK(usage_step(&usage, pids, 2) >= after);
}

TEST(usage_counts_children_that_have_ended_unseen)
{
	u64 most = 0, before = usage_family(NULL, 0, &most);
	pid_t child = fork();

	if (!child) {
		spin(30000000);
		_exit(0);
	}
	EQ(waitpid(child, NULL, 0), child);
	OK(usage_family(NULL, 0, &most) - before >= 30000000);
	child = fork();
	if (!child) {
		for (;;)
			pause();
	}
	before = most;
	OK(usage_family(&child, 1, &most) >= before);
	kill(child, SIGKILL);
	EQ(waitpid(child, NULL, 0), child);
	OK(usage_family(&child, 1, &most) >= before);	/* its pid is nobody's */
}
