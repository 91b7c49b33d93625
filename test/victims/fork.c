// SPDX-License-Identifier: Apache-2.0
/* A child that never calls exec runs the chain. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim.h"

void victim_setup(int argc, char **argv)
{
	int status;
	pid_t pid = fork();

	(void)argc;
	(void)argv;
	if (pid > 0) {
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
}
