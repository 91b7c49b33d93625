// SPDX-License-Identifier: Apache-2.0
#include "cmd/targets.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	EQ(waitpid(pid, NULL, 0), pid);
}

TEST(targets_end_with_the_last_of_them)
{
	pid_t first = sleeper(), second = sleeper();
	struct targets targets;

	targets_init(&targets, &(struct option_numbers){ .count = 2, .at = { (u32)first, (u32)second } });
	OK(!targets_ended(&targets));
	end(first);
	OK(!targets_ended(&targets));
	end(second);
	OK(targets_ended(&targets));
	OK(targets_ended(&targets));
	targets_done(&targets);
}

TEST(targets_that_are_gone_have_ended_and_no_targets_never_do)
{
	pid_t gone = sleeper();
	struct targets targets;

	end(gone);
	targets_init(&targets, &(struct option_numbers){ .count = 1, .at = { (u32)gone } });
	OK(targets_ended(&targets));
	targets_done(&targets);
	targets_init(&targets, &(struct option_numbers){ 0 });
	OK(!targets_ended(&targets));
	targets_done(&targets);
}
